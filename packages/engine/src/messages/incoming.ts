import type { Message, TraceContext } from "@convoke/protocol";
import type { AcceptedMessage, NewPush, Seq } from "../log/backend.ts";
import type { TaskSnapshot } from "../log/task-snapshot.ts";
import type { Sender } from "../log/turn-log.ts";
import type { ServedAgent } from "../run/agents.ts";
import type { LiveTask } from "../run/live-task.ts";
import { digestMessage } from "./digest-message.ts";

/** How a task that a message creates differs from other tasks of the agent. */
export interface NewTaskOptions {
  /** Time limit of the task in milliseconds, in addition to that of the agent. Default none. */
  readonly timeoutMs?: number | undefined;
  /**
   * Creates a task even if the agent answers with a message alone, for callers that only know tasks.
   * Default false.
   */
  readonly isAnnounced?: boolean | undefined;
}

/** A message from a caller. */
export interface Incoming extends Sender {
  /** The agent that the message is for. Default: the first one of the engine. */
  readonly agent?: ServedAgent | undefined;
  readonly message: Message;
  readonly trace?: TraceContext | undefined;
  /**
   * Whether a message with the id of an earlier one is a retry of it. Default true. If false, the id
   * is not recorded, and the message is a new one whatever its id.
   */
  readonly isRetryable?: boolean | undefined;
  /** Creates the push config sent with the message, for the task and the events after a position of its log. */
  readonly push?: ((taskId: string, after: Seq) => NewPush) | undefined;
  /** The mailbox entry in which another process has passed the message on. */
  readonly mailboxId?: string | undefined;
  /** The id of a new task, chosen by code in this process; requests never choose it. Default: a generated id. */
  readonly newTaskId?: string | undefined;
  readonly newTask?: NewTaskOptions | undefined;
}

/** A message whose agent is known. */
export interface AddressedMessage extends Incoming {
  readonly agent: ServedAgent;
}

/** The task that accepted a message. */
export interface AcceptedTask {
  readonly live: LiveTask;
  /** The last sequence before this message: a stream of its turn starts after it. */
  readonly after: Seq;
  /** For a retry: the task when the message first arrived. */
  readonly joined?: TaskSnapshot;
}

/** The id to store with the message, so that a retry is recognized. */
export function recordedId(
  { isRetryable = true }: Incoming,
  message: Message,
): { readonly message?: AcceptedMessage } {
  if (!isRetryable) return {};
  return { message: { messageId: message.messageId, digest: digestMessage(message) } };
}
