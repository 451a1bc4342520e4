import { ERRORS, type PublicEvent, isInterrupted } from "@convoke/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import type { ChildCall } from "./child-call.ts";
import { codeOf } from "./remote-error.ts";
import type { SubAgentLink } from "./sub-agent-link.ts";

export interface WatchFacts {
  readonly link: SubAgentLink;
  readonly owner: string;
  readonly signal: AbortSignal;
}

/** How long to wait where the stream ended, or there is none. */
const AGAIN_MS = 10_000;
const PATIENCE_MS = 24 * 3_600_000;

/**
 * Resolves when a sub-agent does not wait any more with the question that its call asked last:
 * somebody has answered it there, or it went on by itself. Never rejects, and never resolves once
 * nobody waits for it.
 */
export async function watchChild(call: ChildCall, facts: WatchFacts): Promise<void> {
  const { signal } = facts;
  while (!signal.aborted) {
    try {
      if (await hasGoneOn(call, facts)) break;
    } catch (error) {
      if (signal.aborted) break;
      // That its task is gone is for the call to hear, when it looks itself.
      if (codeOf(error) === ERRORS.TaskNotFound.code) break;
    }
    await sleep(AGAIN_MS, undefined, { signal, ref: false }).catch(() => undefined);
  }
  if (signal.aborted) await new Promise(() => undefined);
}

async function hasGoneOn(
  { child, question }: ChildCall,
  { link, owner, signal }: WatchFacts,
): Promise<boolean> {
  if (child === undefined || question === undefined) return true;
  const remote = await link.reach({ owner, signal, patienceMs: PATIENCE_MS });
  const run = remote.subscribe(child.taskId, { signal, reconnect: { forMs: PATIENCE_MS } });
  for await (const event of run) {
    if (hasMoved(event, question.messageId)) return true;
  }
  return false;
}

function hasMoved(event: PublicEvent, messageId: string | undefined): boolean {
  if (event.kind !== "task" && event.kind !== "status-update") return false;
  const { state, message } = event.status;
  return !isInterrupted(state) || message?.messageId !== messageId;
}
