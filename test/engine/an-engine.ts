import { randomUUID } from "node:crypto";
import { createMemoryBackend } from "@convoke/engine/memory";
import { type Agent, type Message, userMessage } from "@convoke/protocol";
import {
  type AcceptedTask,
  type Backend,
  type Engine,
  type EngineOptions,
  type Logger,
  acceptMessage,
  createEngine,
} from "@convoke/engine";

export const CALLER = { owner: "ann" };

/** A log that tests can read. */
export function memoryLogger(): Logger & { readonly lines: string[] } {
  const lines: string[] = [];
  const log = (message: string, fields?: object): void =>
    void lines.push(`${message} ${JSON.stringify(fields)}`);
  return { lines, debug: log, info: log, warn: log, error: log };
}

export function anEngine(
  agent: Agent | readonly Agent[],
  backend: Backend = createMemoryBackend(),
  options: Partial<EngineOptions> = {},
): Engine {
  return createEngine({
    agent,
    backend,
    logger: memoryLogger(),
    idempotency: "always",
    ...options,
  });
}

/** Sends text to an engine, to a new task or to one that waits. */
export function tell(
  engine: Engine,
  text: string,
  more: Partial<Message> = {},
): Promise<AcceptedTask> {
  const message = { ...userMessage(randomUUID(), text), ...more };
  return acceptMessage(engine, { message, caller: CALLER });
}
