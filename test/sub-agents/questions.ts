import type { RemoteAgent } from "@convoke/client";
import { type A2APart, type Task, isTerminal } from "@convoke/protocol";
import { expect } from "vitest";
import type { Hop } from "./a-hop.ts";

/** Resolves to the task of an agent once it is in that state. */
export async function until(hop: Hop, state: string, taskId?: string): Promise<Task> {
  const remote = await hop.client();
  const find = async (): Promise<Task | undefined> =>
    taskId === undefined ? (await hop.tasks())[0] : remote.get(taskId);
  await expect
    .poll(async () => (await find())?.status.state, { timeout: 20_000, interval: 20 })
    .toBe(state);
  return (await find())!;
}

/** Answers a task, and returns it when it has ended or asks again. */
export async function answer(
  remote: RemoteAgent,
  { id: taskId, contextId }: Task,
  content: string | readonly A2APart[],
): Promise<Task> {
  const { task } = await remote.send(content, { taskId, contextId });
  return task!;
}

/** Resolves to the task when it has ended. */
export async function ended(hop: Hop, taskId: string): Promise<Task> {
  const remote = await hop.client();
  await expect
    .poll(async () => isTerminal((await remote.get(taskId)).status.state), {
      timeout: 25_000,
      interval: 20,
    })
    .toBe(true);
  return remote.get(taskId);
}
