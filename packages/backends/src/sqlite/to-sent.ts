import type { Step } from "@convoke/engine";
import { packLines } from "./front-coding.ts";
import type { SentStep } from "./thread-messages.ts";

/**
 * One text instead of many events: cheaper to send, and the shape it is stored
 * in. Names each field, so that nothing else a caller may carry along is sent.
 */
export function toSent({
  taskId,
  create,
  epoch,
  events,
  state,
  statusAt,
  listed,
  message,
  snapshot,
  wakeAt,
  push,
}: Step): SentStep {
  const sent = {
    taskId,
    epoch,
    count: events.length,
    body: packLines(events),
    state,
    statusAt,
    listed,
  };
  const isPlain = create === undefined && message === undefined && snapshot === undefined;
  if (isPlain && wakeAt === undefined && push === undefined) return sent;
  return {
    ...sent,
    ...(create && {
      create: {
        owner: create.owner,
        contextId: create.contextId,
        agent: create.agent,
        createdAt: create.createdAt,
        ...(create.unlessForgotten && { unlessForgotten: true }),
      },
    }),
    ...(message && { message: { messageId: message.messageId, digest: message.digest } }),
    ...(snapshot && { snapshot: { seq: snapshot.seq, json: snapshot.json } }),
    ...(wakeAt !== undefined && { wakeAt }),
    ...(push && { push: { id: push.id, config: push.config, cursor: push.cursor } }),
  };
}
