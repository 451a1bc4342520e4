import { expect, test } from "vitest";
import { KeptTasks } from "./kept-tasks.ts";

test("the one that has waited longest makes room, and whoever left is not asked", () => {
  const { kept, dropped } = keptTasks(3);
  const [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map((name) => ({ name, size: 1 }));
  for (const task of [a!, b!, c!]) kept.keep(task);
  expect(dropped).toEqual([]);

  // The first is kept again, and the second is over.
  kept.keep(a!);
  kept.delete(b!);
  for (const task of [d!, e!]) kept.keep(task);

  expect(dropped).toEqual(["c"]);
});

test("large tasks make room sooner, and the newest is kept whatever its size", () => {
  const { kept, dropped } = keptTasks(100);
  const MB = 1024 * 1024;

  for (const [name, size] of [
    ["a", 10],
    ["b", 10],
    ["c", 10],
    ["d", 10],
    ["e", 50],
  ] as const) {
    kept.keep({ name, size: size * MB });
  }
  expect(dropped).toEqual(["a", "b", "c", "d"]);

  kept.keep({ name: "f", size: MB });
  expect(dropped).toEqual(["a", "b", "c", "d", "e"]);
});

function keptTasks(most: number) {
  const dropped: string[] = [];
  const onDrop = ({ name }: { readonly name: string }) => void dropped.push(name);
  return { dropped, kept: new KeptTasks<{ name: string; size: number }>({ most, onDrop }) };
}
