import { type Origin, createApp } from "./agent-app.ts";
import type { App } from "./bindings/app.ts";
import { respondWithAgents } from "./cards/agent-list.ts";
import { grpcBasePath, rootAddressFor } from "./cards/card-binding.ts";
import type { HttpRequest, HttpResponse } from "./http/exchange.ts";
import type { Routes } from "./route.ts";

/** An agent of a server. */
export interface ServerAgent {
  /** Its path on the server is `/agents/<id>`. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Whether it accepts new tasks. */
  readonly isEnabled: boolean;
  /** Whether it also answers at the root. */
  readonly isDefault: boolean;
  /** How many tasks it is working on. */
  readonly running: number;
}

/** The agents of a running server, with what handles their requests. */
export class HostedAgents implements Iterable<ServerAgent>, Routes {
  readonly root: App;
  readonly grpcBasePath: string;
  readonly #origin: Origin;
  readonly #apps: ReadonlyMap<string, App>;

  constructor(origin: Origin) {
    const { options, running } = origin;
    const { agents } = running.engine;
    this.#origin = origin;
    this.grpcBasePath = grpcBasePath(options.card);
    this.#apps = new Map(
      Array.from(agents, (agent) => [agent.id, createApp(agent, origin, this.find)]),
    );
    this.root = this.#apps.get(options.default ?? agents.first.id)!;
  }

  readonly find = (id: string): App | undefined => this.#apps.get(id);

  directory(request: HttpRequest): HttpResponse {
    const base = rootAddressFor(request, this.#origin.options);
    const own = Array.from(this.#apps.values(), ({ agent: { id, info, isEnabled } }) => {
      const { name, description, skills } = info;
      return { id, name, description, skills, isEnabled };
    });
    const { remoteAgents: remote } = this.#origin;
    return respondWithAgents({ base, root: this.root.agent.id, own, remote }, request);
  }

  *[Symbol.iterator](): IterableIterator<ServerAgent> {
    for (const { agent } of this.#apps.values()) {
      const { id, info, isEnabled, running } = agent;
      const { name, description } = info;
      const isDefault = agent === this.root.agent;
      yield { id, name, description, isEnabled, isDefault, running };
    }
  }
}
