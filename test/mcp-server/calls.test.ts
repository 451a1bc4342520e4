import { spawn } from "node:child_process";
import { once } from "node:events";
import { BEGINS_AGAIN } from "@convoke/client";
import type { TaskState } from "@convoke/protocol";
import type { Progress } from "@modelcontextprotocol/client";
import { createJsonLogger } from "@convoke/engine";
import { type RemoteAgent, connect, defineAgent, serve } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { BIN } from "../cli/typist.ts";
import { eventually } from "../mcp/eventually.ts";
import { expectNoLeftovers, markedProcesses } from "../mcp/marked-processes.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { aHost, agentFile } from "./a-host.ts";
import { createClerk } from "./agents/create-clerk.ts";
import { untilItCounts } from "./until-it-counts.ts";

expectNoLeftovers();

/** An agent that is served here, and a client that reads its tasks. */
async function serveClerk(clerk = createClerk(() => undefined)): Promise<{
  readonly url: string;
  readonly cwd: string;
  readonly agent: RemoteAgent;
  readonly states: () => Promise<readonly TaskState[]>;
}> {
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(clerk, { port: 0, data: "memory", logger });
  const agent = await connect(server.url);
  onTestFinished(async () => {
    agent.close();
    await server.close();
  });
  const states = async () => (await agent.list()).tasks.map(({ status }) => status.state);
  return { url: server.url, cwd: temporaryFolder(), agent, states };
}

describe("a call", () => {
  test("reports what the agent says and writes in the meantime, the newest at intervals", async () => {
    const { url, cwd } = await serveClerk();
    const host = await aHost([url], { cwd });
    const seen: Progress[] = [];
    const stop = new AbortController();
    const { onProgress, counts } = untilItCounts();

    const call = host.call(
      "count",
      { message: "go" },
      {
        signal: stop.signal,
        onProgress: (progress) => {
          seen.push(progress);
          onProgress(progress);
        },
      },
    );
    await counts;
    stop.abort();

    await expect(call).rejects.toThrow();
    expect(seen.map(({ message }) => message)).toContain("Sharpening a pencil.");
    const steps = seen.map(({ progress }) => progress);
    expect(steps).toEqual([...new Set(steps)].toSorted((a, b) => a - b));
    expect(seen.length).toBeLessThan(steps.at(-1)!);
  });

  test("says when the agent begins its answer again", async () => {
    const writer = defineAgent({
      name: "Writer",
      description: "Writes another answer.",
      async *run({ task, signal }) {
        const begun = (text: string) => {
          const artifact = { artifactId: "answer", parts: [{ kind: "text", text }] } as const;
          return {
            kind: "artifact-update",
            taskId: task.id,
            contextId: task.contextId,
            artifact,
          } as const;
        };
        yield begun("one");
        yield begun("two");
        await once(signal, "abort");
      },
    });
    const { url, cwd } = await serveClerk(writer);
    const host = await aHost([url], { cwd });
    const { tools } = await host.client.listTools();
    const stop = new AbortController();
    const told = Promise.withResolvers<string>();

    const call = host.call(
      tools[0]!.name,
      { message: "go" },
      {
        signal: stop.signal,
        onProgress: ({ message = "" }) => void (message.endsWith("two") && told.resolve(message)),
      },
    );

    expect(await told.promise).toBe(`${BEGINS_AGAIN} two`);
    stop.abort();
    await expect(call).rejects.toThrow();
  });

  test("that is canceled cancels the task at the agent", async () => {
    const { url, cwd, states } = await serveClerk();
    const host = await aHost([url], { cwd });
    const stop = new AbortController();
    const { onProgress, counts } = untilItCounts();

    const call = host.call("count", { message: "go" }, { onProgress, signal: stop.signal });
    await counts;
    expect(await states()).toEqual(["working"]);
    stop.abort();

    await expect(call).rejects.toThrow();
    await eventually(async () => expect(await states()).toEqual(["canceled"]));
    const next = await host.call("echo", { message: "still there?" });
    expect(next.structure.text).toBe("echo heard still there? (0 before)");
  });

  test("that is canceled while the user is asked cancels the task as well", async () => {
    const { url, cwd, states } = await serveClerk();
    const host = await aHost([url], { cwd, asks: true });
    const stop = new AbortController();
    host.answer = () => new Promise(() => undefined);

    const call = host.call("greet", { message: "hello" }, { signal: stop.signal });
    await eventually(() => expect(host.asked).toHaveLength(1));
    stop.abort();

    await expect(call).rejects.toThrow();
    await eventually(async () => expect(await states()).toEqual(["canceled"]));
  });
});

test("an answer to a question that was answered elsewhere is not sent; the current question is asked", async () => {
  const { url, cwd, agent } = await serveClerk();
  const host = await aHost([url], { cwd, asks: true });
  const answers = ["large", "small"];
  host.answer = async () => {
    const [task] = (await agent.list()).tasks;
    if (answers.length === 2) await agent.send("huge", { taskId: task?.id });
    return { action: "accept", content: { answer: answers.shift()! } };
  };

  const called = await host.call("choose", { message: "hello" });

  expect(host.asked.map(({ message }) => message)).toEqual([
    "Which size? (small / large)",
    "Please answer with one of: small, large.",
  ]);
  expect(called.structure).toMatchObject({ state: "completed", text: "Then it is small." });
});

describe("when the host exits", () => {
  test.each(["closes", "SIGTERM"] as const)(
    "(%s), its tasks are canceled, and nothing is left running",
    async (way) => {
      const { url, cwd, states } = await serveClerk();
      const host = await aHost([url], { cwd });
      const { onProgress, counts } = untilItCounts();
      const call = host.call("count", { message: "go" }, { onProgress });
      const asked = await host.call("greet", { message: "hello" });
      await counts;

      if (way === "closes") await host.close();
      else process.kill(host.pid, way);

      await expect(call).rejects.toThrow("closed");
      expect(asked.structure.state).toBe("input-required");
      // A question that was passed to the host can still be answered.
      const left = async () => (await states()).toSorted();
      await eventually(async () => expect(await left()).toEqual(["canceled", "input-required"]));
      await eventually(() => expect(markedProcesses()).toEqual([]));
    },
  );

  test.each([
    ["until 2025-11-25", false],
    ["of 2026-07-28", true],
  ])("%s with an unanswered question, its task is canceled", async (_name, isNew) => {
    const { url, cwd, states } = await serveClerk();
    const host = await aHost([url], { cwd, asks: true, isNew });
    host.answer = () => new Promise(() => undefined);
    // Since 2026-07-28 the host itself waits for its user, here forever.
    void host.call("greet", { message: "hello" }).catch(() => undefined);
    await eventually(() => expect(host.asked).toHaveLength(1));

    await host.close();

    await eventually(async () => expect(await states()).toEqual(["canceled"]));
  });

  test("an agent from a file keeps its tasks for the next one", async () => {
    const cwd = temporaryFolder();
    const first = await aHost([agentFile("clerk")], { cwd });
    const { onProgress, counts } = untilItCounts();
    const call = first.call("count", { message: "go" }, { onProgress });
    const { structure } = await first.call("greet", { message: "hello" });
    await counts;
    await first.close();
    await expect(call).rejects.toThrow("closed");

    const second = await aHost([agentFile("clerk")], { cwd });
    const done = await second.call("greet", { message: "Ann", taskId: structure.taskId });

    expect(done.structure).toMatchObject({ taskId: structure.taskId, text: "Hello, Ann!" });
  });

  test("and no longer reads, the process ends as well, with code 0", async () => {
    const { url, cwd, states } = await serveClerk();
    const child = spawn(process.execPath, [BIN, "mcp", url], { cwd, timeout: 60_000 });
    const write = (message: object) =>
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const clientInfo = { name: "a host", version: "1" };
    const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    const count = { name: "count", arguments: { message: "go" }, _meta: { progressToken: 1 } };
    write({ id: 1, method: "initialize", params: hello });
    write({ method: "notifications/initialized" });
    write({ id: 2, method: "tools/call", params: count });
    await eventually(async () => expect(await states()).toEqual(["working"]));

    child.stdout.destroy();

    expect(await once(child, "exit")).toEqual([0, null]);
    await eventually(async () => expect(await states()).toEqual(["canceled"]));
  });
});
