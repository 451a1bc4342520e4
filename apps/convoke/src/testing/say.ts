import { randomUUID } from "node:crypto";
import { createInProcessConnection, createJsonLogger, startEngine } from "@convoke/engine";
import { createMemoryBackend } from "@convoke/engine/memory";
import {
  type Agent,
  type Message,
  type PublicEvent,
  type Task,
  applyEvent,
  isTerminal,
  textOf,
  userMessage,
} from "@convoke/protocol";

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
  const started = await startEngine({
    agent,
    backend: createMemoryBackend(),
    logger,
    push: false,
  });
  const connection = createInProcessConnection(started.engine, { owner: "test" });
  const events: PublicEvent[] = [];
  let task: Task | undefined;
  try {
    for (const words of [text, ...(options.answers ?? [])]) {
      if (task !== undefined && isTerminal(task.status.state)) break;
      const message = { ...userMessage(randomUUID(), words), ...(task && { taskId: task.id }) };
      for await (const items of connection.stream("sendStreamingMessage", {
        message,
        blocking: true,
      })) {
        for (const item of items) {
          if (item.kind !== "event") continue;
          const { event } = item;
          if (event.kind === "message")
            return { text: textOf(event), message: event, events: [event] };
          // A follow-up begins with the task as it is: that is no news here.
          if (event.kind === "task" && task !== undefined) continue;
          events.push(event);
          task = event.kind === "task" ? event : applyEvent(task!, event);
        }
      }
    }
    return { text: textOf(task!), task: task!, events };
  } finally {
    await started.close();
  }
}
