import { type CommitStep, type NewTask, notOneLine } from "@convoke/engine";
import type { TaskState } from "@convoke/protocol";
import { packLines } from "../storage/front-coding.ts";
import type { BatchMessage, OtherWrite, SentStep, SentWrite } from "./thread-messages.ts";

// A batch crosses to the writer thread as one flat list of texts and numbers: names of fields would
// be copied for each write, and reading them costs more than the rest of a small step.

/** What only some steps have. */
type RareFields = Pick<SentStep, "message" | "perAgent" | "snapshot" | "wakeAt" | "push">;

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/**
 * A step as it is written. Its events are joined into one text, which is also the stored format. Throws if
 * one of them has several lines.
 */
export function toSentStep(step: CommitStep): SentStep {
  const { taskId, epoch, events, state, statusAt, listed, after, create } = step;
  for (const event of events) if (event.includes("\n")) throw notOneLine(taskId);
  // Fields are set one by one, because a spread of each would cost more than the rest.
  const sent: Mutable<SentStep> = {
    taskId,
    epoch,
    count: events.length,
    body: packLines(events),
    state,
    statusAt,
    listed,
  };
  if (after !== undefined) sent.after = after;
  if (create !== undefined) sent.create = create;
  const rare = rareFields(step);
  return rare === undefined ? sent : Object.assign(sent, rare);
}

export function packBatch(writes: readonly SentWrite[]): BatchMessage {
  const batch: unknown[] = [];
  for (const write of writes) {
    if (write.kind === undefined) addStep(batch, write);
    else batch.push(write);
  }
  return batch;
}

function addStep(batch: unknown[], step: SentStep): void {
  const { after, create } = step;
  batch.push(
    step.taskId,
    step.epoch,
    step.count,
    step.body,
    step.state,
    step.statusAt,
    step.listed,
    after?.head,
    after?.epoch,
    create?.owner,
    create?.contextId,
    create?.agent,
    create?.agentId,
    create?.createdAt,
    create?.unlessForgotten,
    rareFields(step),
  );
}

/** Copies each field, so that no additional properties of the caller are sent. */
function rareFields({
  message,
  perAgent,
  snapshot,
  wakeAt,
  push,
}: CommitStep | SentStep): RareFields | undefined {
  const isPlain = message === undefined && snapshot === undefined && push === undefined;
  if (isPlain && wakeAt === undefined && perAgent === undefined) return undefined;
  return {
    ...(perAgent && { perAgent }),
    ...(message && { message: { messageId: message.messageId, digest: message.digest } }),
    ...(snapshot && { snapshot: { seq: snapshot.seq, json: snapshot.json } }),
    ...(wakeAt !== undefined && { wakeAt }),
    ...(push && { push: { id: push.id, config: push.config, cursor: push.cursor } }),
  };
}

/** The writes of a batch, in order. */
export function readBatch(batch: BatchMessage): SentWrite[] {
  const writes: SentWrite[] = [];
  let place = 0;
  const next = <T>(): T => batch[place++] as T;
  while (place < batch.length) {
    const first = next<string | OtherWrite>();
    writes.push(typeof first === "string" ? readStep(first, next) : first);
  }
  return writes;
}

/** Reads the fields in the order in which they were added. */
function readStep(taskId: string, next: <T>() => T): SentStep {
  const step = {
    taskId,
    epoch: next<number>(),
    count: next<number>(),
    body: next<string>(),
    state: next<TaskState>(),
    statusAt: next<number>(),
    listed: next<boolean>(),
  };
  const head = next<number | undefined>();
  const epoch = next<number>();
  const create = readCreation(next);
  const rare = next<RareFields | undefined>();
  return {
    ...step,
    ...(head !== undefined && { after: { head, epoch } }),
    ...(create && { create }),
    ...rare,
  };
}

function readCreation(next: <T>() => T): NewTask | undefined {
  const owner = next<string | undefined>();
  const contextId = next<string>();
  const agent = next<string>();
  const agentId = next<string | undefined>();
  const createdAt = next<number>();
  const unlessForgotten = next<boolean | undefined>();
  if (owner === undefined) return undefined;
  return {
    owner,
    contextId,
    agent,
    ...(agentId !== undefined && { agentId }),
    createdAt,
    ...(unlessForgotten === true && { unlessForgotten }),
  };
}
