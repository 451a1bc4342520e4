import type { SignIn, SignInPrompt } from "convoke";

/** A person with a browser that keeps cookies and follows redirects, and agrees to everything. */
export class Person {
  readonly prompts: SignInPrompt[] = [];
  readonly #cookies = new Map<string, string>();

  /** Does what the prompt asks for. */
  readonly show = async (prompt: SignInPrompt): Promise<void> => {
    this.prompts.push(prompt);
    if (prompt.kind === "browser") await this.open(prompt.url);
    else await this.enterCode(prompt.url, prompt.code);
  };

  signIn(more: Partial<SignIn> = {}): SignIn {
    return { show: this.show, ...more };
  }

  /** Opens a page and follows its redirects, up to the address that the program listens on. */
  async open(address: string, init: RequestInit = {}): Promise<Response> {
    let response = await this.#request(address, init);
    for (let at = address; response.headers.has("location");) {
      at = new URL(response.headers.get("location")!, at).href;
      response = await this.#request(at);
    }
    return response;
  }

  async enterCode(page: string, code: string): Promise<void> {
    const form = await (await this.open(page)).text();
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(form)![1]!;
    const answer = { xsrf, user_code: code, confirm: "yes" };
    const done = await this.open(page, { method: "POST", body: new URLSearchParams(answer) });
    if (!done.ok) throw new Error(`the code was not accepted: ${done.status}`);
  }

  async #request(url: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { ...init, redirect: "manual", headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return response;
  }
}
