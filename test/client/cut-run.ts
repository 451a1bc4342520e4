import type { PublicEvent } from "@convoke/protocol";
import type { RemoteAgent } from "@convoke/client";
import { expect } from "vitest";

/** What a reader received: each event with the id that resumes after it. */
export interface Got {
  readonly id: string | undefined;
  readonly event: PublicEvent;
}

/** Sends a message over a connection that is cut, and reads the result. */
export async function runOverCuts(
  remote: RemoteAgent,
  text: string,
): Promise<{ readonly taskId: string; readonly got: readonly Got[]; readonly text: string }> {
  // The agent identifies a message by its id.
  const run = remote.stream(text, { reconnect: { resend: "always" } });
  const got: Got[] = [];
  const deltas: string[] = [];
  const readText = async (): Promise<void> => {
    for await (const delta of run.text) deltas.push(delta);
  };
  const readEvents = async (): Promise<void> => {
    for await (const event of run) got.push({ id: run.lastEventId, event });
  };
  await Promise.all([readText(), readEvents()]);
  const { text: whole } = await run.result;
  expect(deltas.join("")).toBe(whole);
  return { taskId: run.taskId ?? "", got, text: whole };
}

/** The log, as read without interruptions. */
export async function logOf(direct: RemoteAgent, taskId: string): Promise<readonly Got[]> {
  const run = direct.subscribe(taskId, { lastEventId: "0", reconnect: false });
  const log: Got[] = [];
  for await (const event of run) log.push({ id: run.lastEventId, event });
  return log;
}
