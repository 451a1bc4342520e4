import {
  A2AError,
  type Message,
  type SendMessageRequest,
  type Task,
  withHistoryLength,
} from "@convoke/protocol";
import { checkRequired } from "./check-required.ts";
import { checkData } from "./check-data.ts";
import { type Accepted, acceptMessage } from "../messages/accept-message.ts";
import { checkMessageSize } from "../task/input-limits.ts";
import { isDecided, isSettled } from "../run/live-task.ts";
import type { Call } from "./call.ts";
import { outputView } from "./accepted-output.ts";
import { checkMediaTypes } from "./media-types.ts";
import { inlinePush } from "./push-configs.ts";

/** Sends a message and answers with the task, or with the message that is the whole answer. */
export async function sendMessage(
  request: SendMessageRequest,
  call: Call,
): Promise<Task | Message> {
  const { engine } = call;
  const accepted = await acceptRequest(request, call);
  // Held, because a run that is dropped while it waits goes on in whatever has its task then.
  const live = await engine.tasks.holdAgain(accepted.live);
  try {
    await settledOrStopping(live.until(request.blocking ? isSettled : isDecided), call);
    const answer = live.writer.reply ?? withHistoryLength(live.task, request.historyLength);
    return outputView(request.acceptedOutputModes)?.(answer) ?? answer;
  } finally {
    engine.tasks.release(live);
  }
}

/** What sending and streaming have in common. */
export async function acceptRequest(request: SendMessageRequest, call: Call): Promise<Accepted> {
  const { engine, caller, trace, extensions } = call;
  const { message, pushConfig } = request;
  checkRequired(call);
  checkMessageSize(message, engine.limits);
  checkMediaTypes(message, engine.agent.info, extensions);
  if (extensions !== undefined && extensions.size > 0) await checkData(message, call, extensions);
  const push = pushConfig && (await inlinePush(pushConfig, call, message.taskId));
  if (engine.isDraining) throw stopping("no new work is taken");
  return acceptMessage(engine, { message, caller, trace, push, extensions });
}

/** A caller that waits while the server stops is told so; its task is kept, and the same message finds it again. */
function settledOrStopping(settled: Promise<void>, { engine }: Call): Promise<void> {
  const { closing } = engine;
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(stopping("the task is kept, send the same message again"));
    closing.addEventListener("abort", stop, { once: true });
    void settled.then(() => {
      closing.removeEventListener("abort", stop);
      resolve();
    });
  });
}

function stopping(detail: string): A2AError {
  return new A2AError("Unavailable", `the server is stopping: ${detail}`);
}
