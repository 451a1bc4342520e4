import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { runCli } from "./testing/run-cli.suite.ts";
import { beginTask, serveDemo } from "./testing/serve-demo.suite.ts";

test("a log is a line for each event: time, position, kind and a few words", async () => {
  const { url, agent } = await serveDemo();
  const { task } = await agent.send("hello");

  const { code, stdout, stderr } = await runCli(["log", url, task!.id]);

  expect([code, stderr]).toEqual([0, ""]);
  const lines = stdout.trimEnd().split("\n");
  for (const line of lines) expect(line).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {1,5}\d+ {2}[a-z-]+( |$)/);
  expect(lines[0]).toMatch(/1 {2}task +hello$/);
  expect(lines.at(-1)).toMatch(/ {2}status +completed$/);
  expect(lines.some((line) => / artifact +answer-1: \w.* \w/.test(line))).toBe(true);
});

test("at a terminal it has colours", async () => {
  const { url, agent } = await serveDemo();
  const { task } = await agent.send("fail");

  const { stdout } = await runCli(["log", url, task!.id.slice(0, -1)], { isTerminal: true });

  expect(stdout).toContain("\u001B[1mstatus");
  expect(stdout).toContain("\u001B[31mfailed");
});

test("programs get every event as JSON, after a position, with or without notes", async () => {
  const { url, agent } = await serveDemo();
  const { task } = await agent.send("hello");
  const events = async (...flags: readonly string[]) => {
    const { stdout } = await runCli(["log", url, task!.id, "--json", ...flags]);
    return stdout.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Item]));
  };

  const all = await events("--notes");
  const kinds = (items: readonly Item[]) => items.map(({ event }) => event.kind);

  expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1));
  expect(await events("--after", "2")).toEqual(all.slice(2));
  expect(kinds(await events("--no-notes"))).toEqual(
    kinds(all).filter((kind) => !kind.startsWith("internal:")),
  );
});

interface Item {
  readonly seq: number;
  readonly event: { readonly kind: string };
}

test("--follow continues until the task ends, and returns the exit code of its state", async () => {
  const { url, agent } = await serveDemo();
  const taskId = await beginTask(agent, "ask");
  const following = runCli(["log", url, taskId, "--follow"], {
    onStdout: (text) => {
      if (text.includes("input-required")) void agent.cancel(taskId);
    },
  });

  const { code, stdout } = await following;

  expect(code).toBe(1);
  expect(stdout).toMatch(/status +input-required.*\n(?:.*\n)*.*status +canceled/);
  expect((await runCli(["log", url, taskId, "--follow", "--after", "9999"])).code).toBe(3);
});

test("--follow opens a lost connection again, after the last event that it has seen", async () => {
  const asked: (string | undefined)[] = [];
  const item = (seq: number) =>
    `id: ${seq}\ndata: {"seq":${seq},"event":{"kind":"internal:woken"}}\n\n`;
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, "http://x");
    if (pathname === "/convoke/tasks") return response.end('{"tasks":[{"id":"t1"}]}');
    if (request.headers.accept === "application/json") {
      return response.end('{"id":"t1","state":"completed","events":[]}');
    }
    asked.push(request.headers["last-event-id"] as string | undefined);
    if (asked.length === 1) {
      response.write(item(1) + item(2) + "id: 3\nda");
      return setImmediate(() => response.destroy());
    }
    if (asked.length === 2) return response.writeHead(503).end();
    if (asked.length === 3) return response.end(item(3));
    return response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const { code, stdout } = await runCli(["log", url, "t1", "--follow", "--json"]);

  expect(code).toBe(0);
  expect(stdout.match(/"seq":\d/g)).toEqual(['"seq":1', '"seq":2', '"seq":3']);
  expect(asked).toEqual(["0", "2", "2", "3"]);
});

test("errors name what is missing", async () => {
  const { url } = await serveDemo({ readApi: false });

  const off = await runCli(["log", url, "01998f2e"]);
  const without = await runCli(["log", url]);
  const both = await runCli(["log", url, "t1", "--notes", "--no-notes"]);

  expect([off.code, off.stderr]).toEqual([3, expect.stringContaining("CONVOKE_READ_API=1")]);
  expect([without.code, without.stderr]).toEqual([2, expect.stringContaining("task id")]);
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining("--no-notes")]);
});
