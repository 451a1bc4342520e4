import {
  A2AError,
  type Message,
  type SendMessageRequest,
  type Task,
  withHistoryLength,
} from "@convoke/protocol";
import { acceptMessage, type Accepted } from "../tasks/accept-message.ts";
import { isDecided, isSettled } from "../tasks/live-task.ts";
import type { Call } from "./call.ts";

/** Sends a message and answers with the task, or with the message that is the whole answer. */
export async function sendMessage(
  request: SendMessageRequest,
  call: Call,
): Promise<Task | Message> {
  const { live } = await acceptRequest(request, call);
  await live.until(request.blocking ? isSettled : isDecided);
  return live.writer.reply ?? withHistoryLength(live.task, request.historyLength);
}

/** What sending and streaming have in common. */
export function acceptRequest(request: SendMessageRequest, call: Call): Promise<Accepted> {
  if (request.pushConfig !== undefined) {
    throw new A2AError("PushNotificationNotSupported", "this agent sends no push notifications");
  }
  const { engine, caller, trace } = call;
  return acceptMessage(engine, { message: request.message, caller, trace });
}
