import { type AgentDefinition, defineAgent } from "convoke";
import { createMemoryBackend } from "@convoke/engine/memory";
import type { Agent } from "@convoke/protocol";
import type { Backend, PushOptions } from "@convoke/engine";
import { type Server, serve } from "@convoke/server";
import { onTestFinished } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";

/**
 * Fast retries, and receivers on this machine are allowed. What one of them answers late, because the
 * machine is busy, is not sent again.
 */
const QUICK: PushOptions = {
  allow: ["127.0.0.1"],
  timeoutMs: 20_000,
  backoff: { firstMs: 10, longestMs: 50 },
};

export interface PushingServer extends Server {
  readonly backend: Backend;
  /** What was logged. */
  readonly log: readonly string[];
}

/** Serves an agent that pushes. It is stopped when the test ends. */
export async function aPushingServer(
  agent: Agent,
  push: PushOptions = {},
  backend: Backend = createMemoryBackend(),
): Promise<PushingServer> {
  const logger = memoryLogger();
  const server = await serve(agent, {
    port: 0,
    host: "127.0.0.1",
    logger,
    openBackend: async () => backend,
    push: { ...QUICK, ...push },
    idempotency: "always",
  });
  onTestFinished(() => server.close());
  return Object.assign(server, { backend, log: logger.lines });
}

/** An agent that emits three statuses and one artifact in three chunks. */
export function aChattyAgent(more: Partial<AgentDefinition> = {}): Agent {
  return defineAgent({
    name: "Chatty",
    description: "Says a few things.",
    async *run({ status }) {
      yield status("one");
      yield "a";
      yield status("two");
      yield "b";
      yield "c";
    },
    ...more,
  });
}
