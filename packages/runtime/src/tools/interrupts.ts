import type { AuthRequired, InputRequired, Interrupt } from "./tool.ts";

/**
 * Returned by a tool that needs input from the caller first. Once answered, the tool is called
 * again with the answer in `context.answers` under the request id.
 */
export function inputRequired(
  prompt: string,
  options: Partial<Omit<InputRequired, "kind" | "prompt">> = {},
): InputRequired {
  if (typeof prompt !== "string" || prompt.trim() === "") {
    throw new TypeError("inputRequired needs a prompt: inputRequired(prompt, { requestId })");
  }
  const { requestId = "input", ...rest } = options;
  return { kind: "interrupt:input", requestId, prompt, ...rest };
}

/**
 * Returned by a tool that needs the user to sign in somewhere first, or to send a credential.
 *
 * @example
 * const token = context.credentials.get("calendar");
 * if (token === undefined) return authRequired("May I read your calendar?", { credential: "calendar" });
 */
export function authRequired(
  prompt: string,
  options: Partial<Omit<AuthRequired, "kind" | "prompt">> = {},
): AuthRequired {
  if (typeof prompt !== "string" || prompt.trim() === "") {
    throw new TypeError("authRequired needs a prompt: authRequired(prompt, { url })");
  }
  checkCredentialName(options.credential);
  const { requestId = "auth", ...rest } = options;
  return { kind: "interrupt:auth", requestId, prompt, ...rest };
}

/** The name is shown to callers, and is the key of the credential within the task. */
export function checkCredentialName(name: string | undefined): void {
  if (name === undefined || (typeof name === "string" && name.trim() !== "")) return;
  throw new TypeError('credential must be a name, such as "calendar"');
}

const INTERRUPTS: ReadonlySet<Interrupt["kind"]> = new Set([
  "interrupt:input",
  "interrupt:auth",
  "interrupt:approval",
  "interrupt:tool-use",
]);

export function isInterrupt(value: unknown): value is Interrupt {
  const kind = (value as { readonly kind?: unknown } | null | undefined)?.kind;
  return INTERRUPTS.has(kind as Interrupt["kind"]);
}

const MAX_LENGTH = 2000;

/**
 * Returns the address if a person can safely open it. A server could send others, such as
 * `javascript:`.
 */
export function webUrl(text: string | undefined): string | undefined {
  if (text === undefined || text.length > MAX_LENGTH) return undefined;
  const url = URL.parse(text);
  return url?.protocol === "https:" || url?.protocol === "http:" ? url.href : undefined;
}
