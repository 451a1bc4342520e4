import { expect, test } from "vitest";
import { useReadServer } from "./a-read-server.ts";

const server = useReadServer();

interface Row {
  readonly id: string;
  readonly head: number;
  readonly firstWords: string;
  readonly usage?: object;
}

async function rows(token: string, query: string): Promise<readonly Row[]> {
  const { tasks } = await server.json<{ readonly tasks: readonly Row[] }>(token, `tasks${query}`);
  return tasks;
}

test("a list of tasks has the first words and the usage of each, also of compacted ones", async () => {
  const task = await server.finish("ann", await server.start("ann", `Delete ${"it ".repeat(200)}`));
  const waiting = await server.start("ann", "Delete that.");

  const [second, first] = await rows("ann", "");

  expect(first).toMatchObject({ id: task.id, usage: { iterations: 2 } });
  expect(first!.firstWords).toMatch(/^Delete it it .{180,}…$/);
  expect(second).toMatchObject({ id: waiting.id, firstWords: "Delete that." });
  const json = JSON.stringify(task);
  await server.backend.retention.compact(task.id, { seq: first!.head, json });
  expect(await rows("operator", "?owner=*")).toEqual([second, first]);
});

test("the beginning of an id finds the tasks that have it, of the owners that are meant", async () => {
  const { id: anns } = await server.start("ann");
  const { id: bobs } = await server.start("bob");
  const ids = async (token: string, query: string): Promise<readonly string[]> =>
    (await rows(token, query)).map(({ id }) => id);

  expect(await ids("ann", `?idPrefix=${anns.slice(0, -2)}`)).toContain(anns);
  expect(await ids("ann", `?idPrefix=${anns}`)).toEqual([anns]);
  expect(await ids("ann", `?idPrefix=${bobs}`)).toEqual([]);
  expect(await ids("operator", `?idPrefix=${bobs}&owner=*`)).toEqual([bobs]);
  expect(await ids("operator", `?idPrefix=${bobs}&owner=*&status=completed`)).toEqual([]);
  expect(await ids("operator", "?idPrefix=0&owner=*")).toEqual(await ids("operator", "?owner=*"));
  expect(await ids("operator", "?idPrefix=zzz&owner=*")).toEqual([]);
});
