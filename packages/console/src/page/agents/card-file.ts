import type { RawCard } from "@convoke/protocol";
import { ask } from "../server/session.ts";

/** Where the bindings of an agent and its part of the read API begin, for `ask`. */
export function agentPath(id: string): string {
  return `/agents/${encodeURIComponent(id)}`;
}

/** Reads the card of an agent in the form of a version, or in one that has both. */
export function readCardFile(id: string, version?: string): Promise<RawCard> {
  return ask<RawCard>(`${agentPath(id)}/.well-known/agent-card.json`, {
    ...(version !== undefined && { headers: { "a2a-version": version } }),
  });
}
