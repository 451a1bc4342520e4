import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createMemoryBackend } from "@convoke/engine/memory";
import { type Task, textOf } from "@convoke/protocol";
import { AgentLoop } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { connect, mount, serve } from "convoke";
import { say } from "convoke/testing";
import { describe, expect, test } from "vitest";
import { start } from "../harness/program.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { aLoopOnDisk } from "./killed-loop.ts";
import { calls, echoTool, eventsOf } from "./scripts.ts";

const KILLED = fileURLToPath(new URL("killed-loop.ts", import.meta.url));
const CONVOKE = new URL("../../apps/convoke/src/index.ts", import.meta.url).href;
const TEXT = [{ kind: "text", text: "go" }] as const;
const SOURCE = "--conditions=@convoke/source";

describe("a loop with a data folder", () => {
  test("resumes in the next process what a killed one left unfinished, and repeats nothing", async () => {
    const folder = temporaryFolder();
    const program = start(process.execPath, [SOURCE, KILLED, "--until-killed", folder], {
      cwd: folder,
    });
    await program.until((stdout) => (stdout.includes("halfway") ? true : undefined));
    process.kill(program.pid, "SIGKILL");
    await program.ended;
    const model = scriptedModel(["half an answer"]);
    await using loop = aLoopOnDisk(folder, model);

    const [opening, ...events] = await eventsOf(loop.resume("t1"));

    expect(opening).toMatchObject({ id: "t1", contextId: "c1", status: { state: "working" } });
    expect(textOf(opening as Task)).toBe("First. \n\nhalf an ");
    expect(events.at(-1)).toMatchObject({ status: { state: "completed" }, final: true });
    const [ended] = await eventsOf(loop.resume("t1"));
    expect(textOf(ended as Task)).toBe("First. \n\nhalf an answer");
    expect(readFileSync(join(folder, "marks"), "utf8")).toBe("x");
    expect(model.requests).toHaveLength(1);
  });

  test("does not by itself run tasks of an earlier process", async () => {
    const data = temporaryFolder();
    const first = new AgentLoop({ model: scriptedModel([{ kind: "silence" }]), data });
    await leaveAt("internal:llm-call", first.execute("go", { taskId: "t1" }));
    await first.close();
    const model = scriptedModel(["Other.", "Done."]);
    await using loop = new AgentLoop({ model, data });

    const other = await loop.invokeSync(TEXT);

    expect(textOf(other)).toBe("Other.");
    expect(model.requests).toHaveLength(1);
    const events = await eventsOf(loop.resume("t1"));
    expect(events.at(-1)).toMatchObject({ status: { state: "completed" } });
    expect(model.requests).toHaveLength(2);
  });

  test("keeps its tasks in a given backend instead", async () => {
    const backend = createMemoryBackend();
    await using loop = new AgentLoop({ model: scriptedModel(["Hi."]), backend });

    const { id } = await loop.invokeSync(TEXT);

    expect(await backend.tasks.get(id)).toMatchObject({ state: "completed" });
  });
});

describe("a loop is an agent", () => {
  const script = [calls("echo", { text: "hi" }), "It said hi."] as const;
  const aLoop = () =>
    new AgentLoop({ name: "Loop", model: scriptedModel(script), tools: [echoTool()] });

  test("that can be served", async () => {
    await using server = await serve(aLoop(), { port: 0, data: "memory" });
    const remote = await connect(server.url);

    const { task } = await remote.send("go");

    expect(remote.info.name).toBe("Loop");
    expect(textOf(task!)).toBe("It said hi.");
  });

  test("that can be mounted in your own server", async () => {
    await using mounted = await mount(aLoop(), { data: "memory" });

    const card = await mounted.fetch(new Request("http://localhost/.well-known/agent-card.json"));

    expect(await card.json()).toMatchObject({ name: "Loop" });
  });

  test("that can be called in a test", async () => {
    expect((await say(aLoop(), "go")).text).toBe("It said hi.");
  });
});

test("a loop whose stream is left and subscribed to again resumes where it was", async () => {
  const model = scriptedModel([
    [{ kind: "text", text: "half an " }, { kind: "silence" }],
    "half an answer",
  ]);
  await using loop = new AgentLoop({ model });
  const events$ = loop.execute("go", { taskId: "t1" });
  await leaveAt("artifact-update", events$);

  const events = await eventsOf(events$);

  expect(events[0]).toMatchObject({ kind: "task", id: "t1", status: { state: "submitted" } });
  expect(events.at(-1)).toMatchObject({ status: { state: "completed" } });
  expect(textOf((await eventsOf(loop.resume("t1")))[0] as Task)).toBe("half an answer");
});

test("closing a loop ends its streams with an error, and later calls are rejected", async () => {
  const loop = new AgentLoop({ model: scriptedModel([{ kind: "silence" }]) });
  const events$ = loop.execute("go", { taskId: "t1" });
  const ended = expect(eventsOf(events$)).rejects.toThrow(
    "the loop was closed; task t1 can be resumed",
  );
  await leaveAt("internal:llm-call", events$);

  await loop.close();

  await ended;
  await expect(loop.invokeSync(TEXT)).rejects.toThrow("the loop is closed");
  await loop.close();
});

/** Subscribes, and leaves after the first event of the kind. */
function leaveAt(kind: string, events$: ReturnType<AgentLoop["execute"]>): Promise<void> {
  return new Promise((resolve, reject) => {
    const subscription = events$.subscribe({
      next: (event) => {
        if (event.kind !== kind) return;
        setImmediate(() => {
          subscription.unsubscribe();
          resolve();
        });
      },
      error: reject,
    });
  });
}

test.each([[undefined], [{}], [{ tools: [] }]])(
  "a loop without a model gets a clear error: %j",
  (given) => {
    expect(() => new AgentLoop(given as never)).toThrow(
      'AgentLoop needs a model: new AgentLoop({ model: "anthropic:claude-sonnet-4-5" })',
    );
  },
);

test("data and backend cannot be combined", () => {
  const both = { model: "demo", data: "tasks", backend: createMemoryBackend() } as const;
  expect(() => new AgentLoop(both)).toThrow("either data or backend");
});

describe("RxJS", () => {
  /** Runs a separate module, and prints how many RxJS modules it has loaded. */
  async function loadedBy(body: string): Promise<string> {
    const folder = temporaryFolder();
    const file = join(folder, "main.mts");
    const count = `Object.keys(createRequire(${JSON.stringify(KILLED)}).cache).filter((path) => path.includes("/rxjs/")).length`;
    writeFileSync(
      file,
      `import { createRequire } from "node:module";
      import { AgentLoop, connect, defineAgent, serve } from ${JSON.stringify(CONVOKE)};
      ${body}
      console.log("loaded", ${count});`,
    );
    const { stdout, stderr, code } = await start(process.execPath, [SOURCE, file], { cwd: folder })
      .ended;
    expect([code, stderr]).toEqual([0, ""]);
    return stdout;
  }

  test("is not loaded by a program that serves a function agent", async () => {
    const stdout = await loadedBy(`
      const agent = defineAgent({ name: "Echo", description: "Echoes.", run: ({ text }) => text });
      await using server = await serve(agent, { port: 0, data: "memory" });
      const remote = await connect(server.url);
      console.log((await remote.send("hi")).task.status.state);
      await server.close();`);

    expect(stdout).toBe("completed\nloaded 0\n");
  });

  test("is loaded by a loop, whose process exits by itself when its task has ended", async () => {
    const stdout = await loadedBy(`
      const loop = new AgentLoop({ model: "demo" });
      console.log((await loop.invokeSync([{ kind: "text", text: "hi" }])).status.state);`);

    expect(stdout).toMatch(/^completed\nloaded [1-9]/);
  });
});
