import { AgentCatalog, type AgentCatalogOptions, MemoryCatalogStore } from "@convoke/host";
import type { Caller } from "@convoke/protocol";
import { type AgentServer, type ServeAgentOptions, bearer, defineAgent, serve } from "convoke";
import { memoryLogger } from "../engine/an-engine.ts";

/** The callers of the server, by token. */
const CALLERS: Readonly<Record<string, Caller>> = {
  ann: { owner: "ann", scopes: ["read"] },
  operator: { owner: "ops", scopes: ["convoke:operate"] },
  "operator@acme": { owner: "ops", tenant: "acme", scopes: ["convoke:operate"] },
};

const DEFAULTS: AgentCatalogOptions = {
  entries: {
    root: defineAgent({ id: "root", name: "Root", description: "First.", run: () => "root" }),
    poet: { description: "Writes.", model: "demo", instructions: "Write." },
  },
  store: new MemoryCatalogStore(),
  loadModule: () => Promise.reject(new TypeError("there is no such module")),
};

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A server whose agents operators can change. */
export class CatalogServer {
  readonly server: AgentServer;
  readonly log: ReturnType<typeof memoryLogger>["lines"];

  private constructor(server: AgentServer, log: CatalogServer["log"]) {
    this.server = server;
    this.log = log;
  }

  /** Without authentication, unless `options` say otherwise. */
  static async start(
    given: Partial<AgentCatalogOptions> = {},
    options: Partial<ServeAgentOptions> = {},
  ): Promise<CatalogServer> {
    const logger = memoryLogger();
    const catalog = await AgentCatalog.open({
      ...DEFAULTS,
      store: new MemoryCatalogStore(),
      ...given,
    });
    const server = await serve(catalog.agents, {
      port: 0,
      data: "memory",
      logger,
      manageAgents: (agents, log) => catalog.manage(agents, log),
      ...options,
    });
    return new CatalogServer(server, logger.lines);
  }

  /** A request to the API of agents. */
  async ask(method: string, path = "", body?: object, token?: string): Promise<Answer> {
    const response = await fetch(`${this.server.url}convoke/agents${path}`, {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Answer["body"] };
  }

  /** The status of the card of an agent, and what the card says. */
  async card(id: string): Promise<Answer> {
    const path = `agents/${id}/.well-known/agent-card.json`;
    const response = await fetch(this.server.url + path);
    return { status: response.status, body: (await response.json()) as Answer["body"] };
  }
}

/** Authentication by the tokens of `CALLERS`. */
export const withCallers: Pick<ServeAgentOptions, "auth"> = {
  auth: Object.entries(CALLERS).map(([token, caller]) => bearer(token, caller)),
};
