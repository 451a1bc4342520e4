import { randomUUID } from "node:crypto";
import { createMemoryBackend } from "@convoke/engine/memory";
import {
  type Agent,
  type AgentEvent,
  type Message,
  type PublicEvent,
  type Task,
  isPublic,
  isTerminal,
  textOf,
  userMessage,
} from "@convoke/protocol";
import { acceptMessage, createJsonLogger, Engine, isSettled } from "@convoke/engine";

/** What an agent answered. */
export interface Answer {
  readonly text: string;
  /** Absent when the whole answer was one message. */
  readonly task?: Task;
  readonly message?: Message;
  /** Everything a client would have seen, in order. */
  readonly events: readonly PublicEvent[];
}

export interface SayOptions {
  /** What to answer when the agent asks, in order. Without one left, the question is the answer. */
  readonly answers?: readonly string[];
}

/**
 * Says something to an agent in process: the real engine on memory, no port.
 * Resolves when the agent is done or waits.
 */
export async function say(agent: Agent, text: string, options: SayOptions = {}): Promise<Answer> {
  const logger = createJsonLogger("error", (line) => process.stderr.write(line));
  const backend = createMemoryBackend();
  const engine = new Engine({ agent, backend, logger });
  const caller = { owner: "test" };
  const send = async (message: Message) => {
    const { live } = await acceptMessage(engine, { message, caller });
    await live.until(isSettled);
    return live;
  };
  let live = await send(userMessage(randomUUID(), text));
  for (const answer of options.answers ?? []) {
    if (isTerminal(live.task.status.state)) break;
    live = await send({ ...userMessage(randomUUID(), answer), taskId: live.task.id });
  }
  const stored = await backend.read(live.task.id, 0, Number.MAX_SAFE_INTEGER);
  const events = stored.map(({ json }) => JSON.parse(json) as AgentEvent).filter(isPublic);
  const { reply } = live.writer;
  engine.close();
  if (reply !== undefined) return { text: textOf(reply), message: reply, events: [reply] };
  return { text: textOf(live.task), task: live.task, events };
}
