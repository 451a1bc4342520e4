import { randomUUID } from "node:crypto";
import { createInProcessConnection, createJsonLogger, startEngine } from "@convoke/engine";
import { createMemoryBackend } from "@convoke/engine/memory";
import {
  type Agent,
  type Message,
  type PublicEvent,
  type Task,
  applyEvent,
  isInterrupted,
  isTerminal,
  textOf,
  textOfParts,
  userMessage,
} from "@convoke/protocol";

import { withTape } from "@convoke/runtime/testing";
import { Player } from "./player.ts";
import { Recorder } from "./recorder.ts";
import { readRecording, secretsOf } from "./recording.ts";

/** The answer of an agent. */
export interface Answer<Output = unknown> {
  /** The text of the answer. If the agent waits for its caller, the text of its question. */
  readonly text: string;
  /** The answer of an agent with an `output` schema, if the task is completed. */
  readonly output?: Output;
  /** Absent if the answer is a single message. */
  readonly task?: Task;
  readonly message?: Message;
  /** All events that a client would have received, in order. */
  readonly events: readonly PublicEvent[];
}

export interface SayOptions {
  /** Answers to the questions of the agent, in order. If none is left, `say` resolves with the question. */
  readonly answers?: readonly string[];
  /**
   * Writes everything that the models and tools answer to this file, for `replay`. Secrets are
   * masked: those that the agent asked for as sensitive, the values of environment variables whose
   * names end in KEY, TOKEN, SECRET, PASSWORD or CREDENTIALS, and `secrets`.
   */
  readonly record?: string;
  /**
   * Answers from a file that `record` or `convoke record` wrote: no model is asked, no tool runs, and
   * nothing is sent. Rejects with a `ReplayError`, which has the difference, if the agent asks for
   * something else, or for less.
   */
  readonly replay?: string;
  /** Further texts that are masked in a recording. Use the same ones to replay it. Default none. */
  readonly secrets?: readonly string[];
}

/**
 * Sends a message to an agent in process: the real engine with memory storage, without a port.
 * Resolves when the task is finished or interrupted. `Output` is the type of `output`.
 */
export async function say<Output = unknown>(
  agent: Agent,
  text: string,
  options: SayOptions = {},
): Promise<Answer<Output>> {
  const { record, replay, secrets: given = [] } = options;
  if (record === undefined && replay === undefined) return exchange(agent, text, options);
  if (record !== undefined && replay !== undefined) {
    throw new TypeError("say takes either record or replay, not both");
  }
  const secrets = secretsOf(given);
  if (record !== undefined) {
    const recorder = new Recorder(secrets);
    const answer = await withTape(recorder, () => exchange<Output>(agent, text, options));
    await recorder.save(record);
    return answer;
  }
  const player = new Player(replay!, await readRecording(replay!), secrets);
  const answer = await withTape(player, () => exchange<Output>(agent, text, options));
  player.finish();
  return answer;
}

async function exchange<Output>(
  agent: Agent,
  text: string,
  options: SayOptions,
): Promise<Answer<Output>> {
  const logger = createJsonLogger("warn", (line) => process.stderr.write(line));
  const started = await startEngine({
    agent,
    backend: createMemoryBackend(),
    logger,
    push: false,
    isStrict: true,
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
        let isAsked = false;
        for (const item of items) {
          if (item.kind !== "event") continue;
          const { event } = item;
          if (event.kind === "message")
            return { text: textOf(event), message: event, events: [event] };
          // A follow-up stream starts with the task, which is already known here.
          if (event.kind === "task" && task !== undefined) continue;
          events.push(event);
          task = event.kind === "task" ? event : applyEvent(task!, event);
          isAsked = event.kind === "status-update" && isInterrupted(event.status.state);
        }
        // The stream of a task that waits for a sign-in stays open.
        if (isAsked) break;
      }
    }
    const output = outputOf(task!) as Output | undefined;
    return {
      text: textOrQuestion(task!),
      ...(output !== undefined && { output }),
      task: task!,
      events,
    };
  } finally {
    await started.close();
  }
}

/** The data of the last artifact that has some. */
function outputOf({ artifacts = [] }: Task): unknown {
  const parts = artifacts.flatMap((artifact) => artifact.parts);
  return parts.findLast((part) => part.kind === "data")?.data;
}

/** What the agent said last: an agent may say something before it asks. */
function textOrQuestion(task: Task): string {
  const { state, message } = task.status;
  return isInterrupted(state) && message !== undefined ? textOfParts(message.parts) : textOf(task);
}
