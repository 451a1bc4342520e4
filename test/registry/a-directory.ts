import type { RegistryEntry } from "@convoke/protocol";
import { type AgentServer, type ServeAgentOptions, bearer, defineAgent, serve } from "convoke";
import { createJsonLogger } from "@convoke/engine";

/** The callers, by their tokens. */
const CALLERS = {
  ann: { owner: "ann", scopes: [] },
  bob: { owner: "bob", scopes: [] },
  olga: { owner: "olga", scopes: ["convoke:operate"] },
  "ann@acme": { owner: "ann", tenant: "acme", scopes: [] },
} as const;

export type Token = keyof typeof CALLERS;

const logger = createJsonLogger("silent", () => undefined);

/** An agent with two skills that is served in memory. */
export function serveAgent(name: string, port = 0): Promise<AgentServer> {
  const agent = defineAgent({
    name,
    description: `${name} works with words.`,
    skills: [
      { id: "rhyme", name: "Find rhymes", description: "Finds rhymes.", tags: ["poetry"] },
      { id: "translate", name: "Translate", description: "English to French.", tags: ["words"] },
    ],
    run: async () => "Done.",
  });
  return serve(agent, { port, data: "memory", logger });
}

/** A server with a registry that takes agents of this machine. */
export async function serveDirectory(
  registry: ServeAgentOptions["registry"] = { allow: ["127.0.0.1"] },
  options: ServeAgentOptions = {},
): Promise<Directory> {
  const agent = defineAgent({
    name: "Directory",
    description: "Has a registry.",
    run: async () => "",
  });
  const auth = Object.entries(CALLERS).map(([token, caller]) => bearer(token, caller));
  const own = { port: 0, data: "memory", logger, auth, tenants: ["acme"], registry };
  return new Directory(await serve(agent, { ...own, ...options }));
}

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The registry of a server, as its callers use it. */
export class Directory implements AsyncDisposable {
  readonly #server: AgentServer;

  constructor(server: AgentServer) {
    this.#server = server;
  }

  get url(): string {
    return this.#server.url;
  }

  /** Sends a request. A body makes it a POST. */
  async ask(
    token: Token,
    path = "",
    init: { method?: string; body?: object } = {},
  ): Promise<Answer> {
    const { body, method = body === undefined ? "GET" : "POST" } = init;
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const url = `${this.url}convoke/registry${path}`;
    const response = await fetch(url, { method, headers, ...sent });
    return { status: response.status, body: (await response.json()) as Answer["body"] };
  }

  async register(token: Token, url: string, more: object = {}): Promise<RegistryEntry> {
    const { status, body } = await this.ask(token, "", { body: { url, ...more } });
    if (status !== 200) throw new Error(`not registered: ${JSON.stringify(body)}`);
    return body as unknown as RegistryEntry;
  }

  async get(token: Token, id: string): Promise<RegistryEntry> {
    return (await this.ask(token, `/${id}`)).body as unknown as RegistryEntry;
  }

  async search(token: Token, query = ""): Promise<readonly RegistryEntry[]> {
    const { body } = await this.ask(token, query);
    return body["agents"] as readonly RegistryEntry[];
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
