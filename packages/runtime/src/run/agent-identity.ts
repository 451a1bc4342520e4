import type { AgentPlace } from "@convoke/protocol";
import { randomUUID } from "node:crypto";

/** By what an agent knows itself in the chain of agents that some work has come through. */
export class AgentIdentity {
  #id: string;

  constructor(name: string) {
    this.#id = `${name}/${randomUUID()}`;
  }

  get id(): string {
    return this.#id;
  }

  /** Where an agent is served, it is the same after a restart. */
  prepare({ id }: AgentPlace): void {
    if (id !== undefined) this.#id = id;
  }
}

/** The name in an id, for people. */
export function nameInId(id: string): string {
  return id.split("/")[0] ?? id;
}
