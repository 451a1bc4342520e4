import type { Task } from "@convoke/protocol";
import { expect, test } from "vitest";
import type { TaskSnapshot } from "../log/task-snapshot.ts";
import { DeliveryMemory } from "./delivery-memory.ts";

test("tasks are read one after the other while there is memory, and the rest when some is free again", async () => {
  const memory = new DeliveryMemory(10);
  const read: number[] = [];
  const load = (size: number) =>
    memory.load(async () => {
      read.push(size);
      return aFold(size);
    });

  const first = await load(6);
  const second = await load(7);
  const third = load(1);
  const fourth = load(2);
  await Promise.resolve();
  expect(read).toEqual([6, 7]);

  memory.release(first);
  await Promise.all([third, fourth]);
  expect(read).toEqual([6, 7, 1, 2]);
  memory.release(second);
});

test("a failed read holds no memory, and blocks no other", async () => {
  const memory = new DeliveryMemory(10);

  await expect(memory.load(() => Promise.reject(new Error("no disk")))).rejects.toThrow("no disk");

  expect(await memory.load(async () => aFold(3))).toMatchObject({ size: 3 });
});

function aFold(size: number): TaskSnapshot {
  const task: Task = { kind: "task", id: "t", contextId: "c", status: { state: "working" } };
  return { task, head: 1, size };
}
