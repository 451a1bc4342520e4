import { ask } from "./session.ts";

/** Where a delivery stands. */
export const PUSH_STATES = ["dead", "active", "done"] as const;

export type PushState = (typeof PUSH_STATES)[number];

/** One try to deliver. */
export interface PushAttempt {
  readonly at: string;
  readonly durationMs: number;
  readonly status?: number;
  readonly problem?: string;
}

/** A receiver of a task's notifications. */
export interface PushRow {
  readonly taskId: string;
  readonly id: string;
  readonly owner?: string;
  /** Without its query, which may be a secret. */
  readonly url: string;
  readonly state: PushState;
  /** The position in the log of the last event that was delivered. */
  readonly deliveredUpTo: number;
  readonly failingSince?: string;
  readonly problem?: string;
  readonly attempts?: readonly PushAttempt[];
  readonly nextAt?: string;
}

export interface PushPage {
  readonly pushes: readonly PushRow[];
  readonly nextPageToken?: string;
}

/** What a replay or a test is about: a task, or one receiver of it. */
export interface PushChoice {
  readonly taskId?: string;
  readonly id?: string;
}

export function listPushes(state: PushState, pageToken = ""): Promise<PushPage> {
  const query = new URLSearchParams({ agent: "*", state });
  if (pageToken !== "") query.set("pageToken", pageToken);
  return ask<PushPage>(`/convoke/pushes?${query}`);
}

/** Resumes deliveries that were given up. Returns how many. */
export async function replayPushes(choice: PushChoice): Promise<number> {
  const { replayed } = await ask<{ readonly replayed: number }>("/convoke/pushes:replay?agent=*", {
    method: "POST",
    body: choice,
  });
  return replayed;
}

/** Sends a test notification to a receiver. */
export function testPush({ taskId, id }: PushRow): Promise<PushAttempt> {
  return ask<PushAttempt>("/convoke/pushes:test?agent=*", {
    method: "POST",
    body: { taskId, id },
  });
}
