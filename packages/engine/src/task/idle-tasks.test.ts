import { expect, test } from "vitest";
import { IdleTasks } from "./idle-tasks.ts";

test("the task that has waited longest is evicted, unless it was removed before", () => {
  const { idle, evicted } = idleTasks(3);
  const [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map((name) => ({ name, size: 1 }));
  for (const task of [a!, b!, c!]) idle.keep(task);
  expect(evicted).toEqual([]);

  // The first is kept again, and the second is removed.
  idle.keep(a!);
  idle.delete(b!);
  for (const task of [d!, e!]) idle.keep(task);

  expect(evicted).toEqual(["c"]);
});

test("large tasks are evicted sooner, and the newest is kept regardless of its size", () => {
  const { idle, evicted } = idleTasks(100);
  const MB = 1024 * 1024;

  for (const [name, size] of [
    ["a", 10],
    ["b", 10],
    ["c", 10],
    ["d", 10],
    ["e", 50],
  ] as const) {
    idle.keep({ name, size: size * MB });
  }
  expect(evicted).toEqual(["a", "b", "c", "d"]);

  idle.keep({ name: "f", size: MB });
  expect(evicted).toEqual(["a", "b", "c", "d", "e"]);
});

function idleTasks(maxTasks: number) {
  const evicted: string[] = [];
  const onEvict = ({ name }: { readonly name: string }) => void evicted.push(name);
  return { evicted, idle: new IdleTasks<{ name: string; size: number }>({ maxTasks, onEvict }) };
}
