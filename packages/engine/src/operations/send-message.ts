import {
  A2AError,
  EXTENSIONS,
  type Message,
  type SendMessageRequest,
  type Task,
  checkExtensionData,
  chosenSkill,
  deciderOf,
  invalidParams,
  unknownSkill,
  withHistoryLength,
} from "@convoke/protocol";
import { acceptMessage } from "../messages/accept-message.ts";
import type { AcceptedTask } from "../messages/incoming.ts";
import { checkMessageSize } from "../task/limits.ts";
import type { Engine } from "../run/engine.ts";
import { type LiveTask, isDecided, isSettled } from "../run/live-task.ts";
import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "./call.ts";
import { callerView, viewResult } from "./caller-view.ts";
import { dialectFor, taskInDialect, withDialect } from "./dialects.ts";
import { checkMediaTypes } from "./media-types.ts";
import { inlinePush } from "./push-configs.ts";

/** Sends a message and returns the task, or the reply if the agent answers with a message. */
export async function sendMessage(
  request: SendMessageRequest,
  given: Call,
): Promise<Task | Message> {
  const { engine } = given;
  const dialect = given.agent.definition.dialects && (await dialectFor(given, request.message));
  const call = withDialect(given, dialect);
  const accepted = await acceptRequest(request, call);
  // Hold the task: if its run is evicted and resumes, this request must see the same open task.
  const live = await engine.tasks.holdAgain(accepted.live);
  try {
    const settled = settledOrStopping(
      request.blocking ? engine.tasks.until(live, isSettled) : untilDecided(engine, live),
      call,
    );
    await engine.storage.orUnavailable(settled, {
      taskId: live.writer.taskId,
      detail: "the task is kept, send the same message again later",
    });
    const { reply, task, head } = live.writer;
    const shown =
      dialect === undefined ? task : await taskInDialect(dialect, engine, { task, head });
    const answer = reply ?? withHistoryLength(shown, request.historyLength);
    const view = callerView(call, request.acceptedOutputModes, dialect);
    const viewed = viewResult(answer, view, call);
    return viewed instanceof Promise ? await viewed : viewed;
  } finally {
    engine.tasks.release(live);
  }
}

/** How long a caller that does not wait for the answer waits for the decision whether there is a task. */
const DECISION_MS = 50;

/**
 * An agent may reply without a task, which only its first event shows. If there is none for some
 * time, it is a task: the caller asked not to wait (1.0 §3.2.2).
 */
async function untilDecided(engine: Engine, live: LiveTask): Promise<void> {
  const decided = engine.tasks.until(live, isDecided);
  if (isDecided(live)) return decided;
  await Promise.race([decided, sleep(DECISION_MS, undefined, { ref: false })]);
  if (!isDecided(live)) live.run?.announce();
  await decided;
}

/** Validates and accepts a message. Shared by sending and streaming. */
export async function acceptRequest(
  request: SendMessageRequest,
  call: Call,
): Promise<AcceptedTask> {
  const { engine, agent, caller, trace, newTask } = call;
  const { pushConfig } = request;
  const { message, extensions } = activatedInMessage(request.message, call.extensions);
  checkRequired({ ...call, extensions });
  checkMessageSize(message, engine.limits);
  checkDecider(message);
  checkMediaTypes(message, agent.info, extensions);
  if (extensions !== undefined && extensions.size > 0) await checkData(message, call, extensions);
  const push = pushConfig && (await inlinePush(pushConfig, call, message.taskId));
  if (engine.isDraining) throw stopping("no new work is accepted");
  const { uri } = EXTENSIONS.idempotency;
  // A caller that resumes streams sends the message again to resume one.
  const asks = extensions?.has(uri) === true || extensions?.has(EXTENSIONS.resumption.uri) === true;
  const isRetryable = engine.isIdempotent || asks;
  // Agents see the extensions that concern them; retries are handled before they run.
  const seen =
    extensions?.has(uri) === true
      ? new Set([...extensions].filter((each) => each !== uri))
      : extensions;
  const incoming = { agent, message, caller, trace, push, isRetryable, extensions: seen, newTask };
  const accepted = acceptMessage(engine, incoming);
  const { taskId } = message;
  if (taskId === undefined) return accepted;
  return engine.storage.orUnavailable(accepted, {
    taskId,
    detail: "send the same message again later",
  });
}

/** Rejects if the server stops while the caller waits. The task is kept, and a retry of the message finds it. */
function settledOrStopping(settled: Promise<void>, { engine }: Call): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(stopping("the task is kept, send the same message again"));
    const forget = engine.onClose(stop);
    settled.then(
      () => {
        forget();
        resolve();
      },
      (error: unknown) => {
        forget();
        reject(error as Error);
      },
    );
  });
}

/** The error for work that a stopping server does not accept or finish. */
export function stopping(detail: string): A2AError {
  return new A2AError("Unavailable", `the server is stopping: ${detail}`);
}

/**
 * A message can activate the idempotency extension itself, because gateways drop headers that they do
 * not know. Like the header it is not part of the content: a message that is sent again without it is
 * the same.
 */
function activatedInMessage(
  message: Message,
  active: ReadonlySet<string> | undefined,
): Pick<Call, "extensions"> & { readonly message: Message } {
  const { uri } = EXTENSIONS.idempotency;
  const { extensions = [], ...rest } = message;
  if (!extensions.includes(uri)) return { message, extensions: active };
  const others = extensions.filter((each) => each !== uri);
  return {
    message: { ...rest, ...(others.length > 0 && { extensions: others }) },
    extensions: new Set([...(active ?? []), uri]),
  };
}

/** Who decided for the owner of a task is a fact of the server, so no message can claim it. */
function checkDecider(message: Message): void {
  if (deciderOf(message) === undefined) return;
  const field = `message.metadata[${JSON.stringify(EXTENSIONS.approvals.uri)}].decidedBy`;
  throw invalidParams(field, "is set by the server; leave it out");
}

/** Rejects a message with invalid data of an active extension. */
async function checkData(message: Message, call: Call, active: ReadonlySet<string>): Promise<void> {
  checkExtensionData(message, active);
  if (active.has(EXTENSIONS.skill.uri)) await checkSkill(chosenSkill(message), call);
}

/** The skill must be on the card, or on the extended card of this caller. */
async function checkSkill(chosen: string | undefined, call: Call): Promise<void> {
  const { agent, extendedCard, caller } = call;
  const isChosen = ({ id }: { readonly id: string }): boolean => id === chosen;
  const { skills } = agent.info;
  if (chosen === undefined || skills.some(isChosen)) return;
  const more = (await extendedCard?.(caller))?.info.skills ?? skills;
  if (!more.some(isChosen)) throw unknownSkill(more.map(({ id }) => id));
}

/**
 * Rejects a message that does not activate an extension that the agent requires (1.0 §3.3.4). Only
 * messages are checked, because they start work. Other operations read or end tasks, and must stay
 * available.
 */
function checkRequired({ agent, extensions }: Call): void {
  const { extensions: declared = [] } = agent.info;
  if (declared.length === 0) return;
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
