import type { Agent, ServedBeside, SpeakWithin } from "@convoke/protocol";
import type { Logger } from "@convoke/engine";
import { mount } from "@convoke/server";
import { join } from "node:path";
import { type DataOptions, openData, retentionFor } from "./agent-data.ts";

/** Says in whose name a request is made. Only this process can reach such an agent, so it is believed. */
const OWNER = "x-convoke-owner";

/**
 * Serves an agent for another one: with tasks of its own, in a folder beside
 * those of the other, and without a port. Its address is one that leads nowhere.
 */
export async function serveBeside(
  name: string,
  agent: Agent,
  options: DataOptions & { readonly logger: Logger },
): Promise<ServedBeside> {
  const { data = ".convoke", logger } = options;
  const own = { ...options, data: data === "memory" ? data : join(data, "agents", name) };
  const url = `http://${name.toLowerCase().replaceAll("_", "-")}.invalid/`;
  const mounted = await mount(agent, {
    logger,
    publicUrl: url,
    push: false,
    retention: retentionFor(own.data),
    callerOf: ({ headers }) => {
      const owner = headers[OWNER];
      return typeof owner === "string" ? { owner: decodeURIComponent(owner) } : undefined;
    },
    openBackend: () => openData(agent, { ...own, serveBeside }),
  });
  const known = new Map<string, SpeakWithin>();
  return {
    url,
    fetchFor: (owner) => {
      const kept = known.get(owner) ?? fetchAs(owner, mounted.fetch);
      known.set(owner, kept);
      return kept;
    },
    [Symbol.asyncDispose]: () => mounted.close(),
  };
}

function fetchAs(owner: string, handle: (request: Request) => Promise<Response>): SpeakWithin {
  return (input, init) => {
    const request = new Request(input, init);
    request.headers.set(OWNER, encodeURIComponent(owner));
    return handle(request);
  };
}
