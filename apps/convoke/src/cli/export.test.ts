import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createJsonLogger } from "@convoke/engine";
import { connect } from "@convoke/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { demoAgent } from "../host/load-agent.ts";
import { serve } from "../host/serve-agent.ts";
import { runCli } from "./testing/run-cli.suite.ts";

/** A server with two tasks in a data folder, which is closed before the last tests. */
let folder: string;
let data: string;
let url: string;
let stop: () => Promise<void>;
let ids: readonly string[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "convoke-export-"));
  data = join(folder, "data");
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(demoAgent, { port: 0, data, logger });
  stop = () => server.close();
  ({ url } = server);
  const agent = await connect(url);
  const sent = [await agent.send("hello"), await agent.send("ask")];
  ids = sent.map(({ task }) => task!.id);
});

afterAll(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Line {
  readonly task?: { readonly id: string; readonly head: number };
  readonly taskId?: string;
  readonly seq?: number;
}

const linesIn = (text: string): readonly Line[] =>
  text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Line]));

const eventsIn = (text: string): readonly Line[] => linesIn(text).filter(({ seq }) => seq);

test("all tasks are exported with all their events, one object per line", async () => {
  const { code, stdout } = await runCli(["export", url, "--all"]);

  expect(code).toBe(0);
  const lines = linesIn(stdout);
  const heads = lines.flatMap(({ task }) => (task === undefined ? [] : [task]));
  expect(heads.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  for (const { id, head } of heads) {
    const own = lines.filter(({ taskId }) => taskId === id);
    expect(own.map(({ seq }) => seq)).toEqual(Array.from({ length: head }, (_, n) => n + 1));
  }
});

test("an interrupted export continues where it was cut off, wherever that was", async () => {
  const whole = join(folder, "whole.jsonl");
  const { stderr } = await runCli(["export", url, "--all", "--out", whole]);
  const bytes = readFileSync(whole);
  expect(stderr).toContain(`Exported 2 tasks to ${whole}.`);

  for (const part of [0, 0.1, 0.5, 0.9, 1]) {
    const file = join(folder, `cut-${part}.jsonl`);
    writeFileSync(file, bytes.subarray(0, Math.floor(part * bytes.length)));
    const { code } = await runCli(["export", url, "--all", "--out", file, "--resume"]);
    expect(code).toBe(0);
    expect(eventsIn(readFileSync(file, "utf8"))).toEqual(eventsIn(bytes.toString()));
  }
});

test("a file that is there is not replaced, and other mistakes are named", async () => {
  const file = join(folder, "mine.txt");
  writeFileSync(file, "mine\n");
  const run = async (...words: readonly string[]): Promise<string> => {
    const { code, stderr } = await runCli(["export", ...words]);
    expect(code).toBe(2);
    return stderr;
  };

  expect(await run(url, "--all", "--out", file)).toContain("exists");
  expect(await run(url, "--all", "--out", file, "--resume")).toContain("jsonl");
  expect(readFileSync(file, "utf8")).toBe("mine\n");
  expect(await run(url)).toContain("--all");
  expect(await run(url, ids[0]!, "--all")).toContain("--all");
  expect(await run(url, "--all", "--resume")).toContain("--out");
  expect(await run(url, "--all", "--format", "xml")).toContain('must be jsonl, not "xml"');
  expect(await run(url, "--all", "--format", "json")).toContain("jq -s makes an array");
  expect(await run(url, "--all", "--format", "md")).toContain("convoke log <url> <task>");
});

test("a data folder exports the same once its server has stopped, and not before", async () => {
  const held = await runCli(["export", "--data", data, "--all"]);
  const { stdout: served } = await runCli(["export", url, "--all"]);
  await stop();

  const stored = await runCli(["export", "--data", data, "--all"]);
  const one = await runCli(["export", "--data", data, ids[0]!.slice(0, -1)]);
  const none = await runCli(["export", "--data", join(folder, "nothing"), "--all"]);

  expect([held.code, held.stdout]).toEqual([5, ""]);
  expect(stored.code).toBe(0);
  const sorted = (text: string): readonly string[] =>
    eventsIn(text)
      .map((line) => JSON.stringify(line))
      .toSorted();
  expect(sorted(stored.stdout)).toEqual(sorted(served));
  expect(linesIn(one.stdout)[0]).toMatchObject({ task: { id: ids[0], owner: "anonymous" } });
  expect([none.code, none.stderr]).toEqual([5, expect.stringContaining("There are no tasks")]);
});
