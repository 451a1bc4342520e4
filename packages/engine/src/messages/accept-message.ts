import type { Caller, Message, TraceContext } from "@convoke/protocol";
import type { NewPush, Seq } from "../log/backend.ts";
import { beginTask } from "./begin-task.ts";
import { continueTask } from "./continue-task.ts";
import type { Engine } from "../run/engine.ts";
import type { LiveTask } from "../run/live-task.ts";
import type { Folded } from "../log/load-task.ts";

/** What a caller sends, and who it is. */
export interface Incoming {
  readonly message: Message;
  readonly caller: Caller;
  readonly trace?: TraceContext | undefined;
  /** The extensions that it activates; by default none. */
  readonly extensions?: ReadonlySet<string> | undefined;
  /** The push config that came with it, for the task and what follows that place of its log. */
  readonly push?: ((taskId: string, after: Seq) => NewPush) | undefined;
}

/** A message that found or made its task. */
export interface Accepted {
  readonly live: LiveTask;
  /** The last event before this message: a stream of its turn begins after it. */
  readonly after: Seq;
  /** For a retry: the task as it stood when the message first came. */
  readonly joined?: Folded;
}

/** Gives a message to the task it names, or to a new one. */
export function acceptMessage(engine: Engine, incoming: Incoming): Promise<Accepted> {
  const { taskId } = incoming.message;
  return taskId === undefined
    ? beginTask(engine, incoming)
    : continueTask(engine, incoming, taskId);
}
