import {
  A2AError,
  checkExtensionData,
  chosenSkill,
  EXTENSIONS,
  type Message,
  type SendMessageRequest,
  type Task,
  unknownSkill,
  withHistoryLength,
} from "@convoke/protocol";
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

/** Refuses a message that says something wrong in the words of an extension that is active. */
async function checkData(message: Message, call: Call, active: ReadonlySet<string>): Promise<void> {
  checkExtensionData(message, active);
  if (active.has(EXTENSIONS.skill.uri)) await checkSkill(chosenSkill(message), call);
}

/** A skill must be on the card, or on the one that this caller is shown. */
async function checkSkill(chosen: string | undefined, call: Call): Promise<void> {
  const { engine, extendedCard, caller } = call;
  const isChosen = ({ id }: { readonly id: string }): boolean => id === chosen;
  const { skills } = engine.agent.info;
  if (chosen === undefined || skills.some(isChosen)) return;
  const more = (await extendedCard?.(caller))?.info.skills ?? skills;
  if (!more.some(isChosen)) throw unknownSkill(more.map(({ id }) => id));
}

/**
 * Refuses a message whose sender does not ask for an extension that the agent requires (1.0
 * §3.3.4). It is asked of messages alone: they begin work, on terms that both sides must know.
 * Whatever else there is reads or ends work that was begun so, and must not get out of reach.
 */
function checkRequired({ engine, extensions }: Call): void {
  const { extensions: declared = [] } = engine.agent.info;
  const missing = declared
    .filter(({ uri, required }) => required === true && extensions?.has(uri) !== true)
    .map(({ uri }) => uri);
  if (missing.length === 0) return;
  const uris = missing.join(", ");
  throw new A2AError(
    "ExtensionSupportRequired",
    `the agent requires ${uris}; send the header A2A-Extensions: ${uris}`,
    { field: "A2A-Extensions", details: { extensions: uris } },
  );
}
