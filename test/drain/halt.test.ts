import { openSqliteBackend } from "@convoke/backends/sqlite";
import type { Backend } from "@convoke/engine";
import { type Agent, type Task, textOf } from "@convoke/protocol";
import { StepUnknownError, defineAgent, tool } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { serve as serveFrom } from "@convoke/server";
import { type RemoteAgent, connect, processAgent, serve } from "convoke";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { calls } from "../loop/scripts.ts";
import { acpOptions } from "../processes/a-process-agent.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";

/** More than any drain here takes, if it ends when what has begun has ended. */
const DRAIN_MS = 60_000;
const CUT = "took longer than the drain and was cut";
const IDENTITY = { name: "Worker", description: "Works." };

interface World {
  readonly folder: string;
  /** What happened, in order. */
  readonly seen: string[];
}

function aWorld(): World {
  return { folder: temporaryFolder(), seen: [] };
}

async function serveIn(
  { folder }: World,
  agent: Agent,
  wrap?: (backend: Backend) => Backend,
): Promise<ServedWorld> {
  const logger = memoryLogger();
  const openBackend = async () => wrap!(await openSqliteBackend({ folder }));
  const server = await (wrap === undefined
    ? serve(agent, { port: 0, data: folder, logger })
    : serveFrom(agent, { port: 0, host: "127.0.0.1", logger, openBackend }));
  onTestFinished(() => server.close());
  const remote = await connect(server.url);
  onTestFinished(() => remote.close());
  const warnings = (): readonly string[] => logger.lines.filter((line) => line.includes(CUT));
  return { server, remote, warnings };
}

interface ServedWorld {
  readonly server: { close(options?: { readonly drainMs: number }): Promise<void> };
  readonly remote: RemoteAgent;
  /** What the log says about work that was cut. */
  readonly warnings: () => readonly string[];
}

/** Begins a task on one server, stops it, and returns the task as the next server ends it. */
async function stopped(
  world: World,
  agent: Agent,
  facts: { readonly begun: string; readonly drainMs: number; readonly meanwhile?: () => void },
) {
  const { server, remote, warnings } = await serveIn(world, agent);
  const { task } = await remote.send("go", { wait: false });
  await expect.poll(() => world.seen).toContain(facts.begun);
  const closed = server.close({ drainMs: facts.drainMs });
  facts.meanwhile?.();
  await closed;
  const seenAtStop = [...world.seen];
  const ended = async (): Promise<Task> => {
    const next = await serveIn(world, agent);
    const state = async () => (await next.remote.get(task!.id)).status.state;
    await expect.poll(state).toMatch(/completed|failed/);
    return next.remote.get(task!.id);
  };
  return { seenAtStop, warnings: warnings(), ended };
}

describe("a function whose server stops", () => {
  test("ends its step, begins no other, and goes on with it at the next server", async () => {
    const world = aWorld();
    const { seen } = world;
    const gate = Promise.withResolvers<void>();
    const agent = defineAgent({
      ...IDENTITY,
      async run({ step }) {
        const first = await step("first", async () => {
          seen.push("first");
          await gate.promise;
          return "one";
        });
        return `${first} ${await step("second", () => (seen.push("second"), "two"))}`;
      },
    });

    const { seenAtStop, warnings, ended } = await stopped(world, agent, {
      begun: "first",
      drainMs: DRAIN_MS,
      meanwhile: () => gate.resolve(),
    });

    expect(seenAtStop).toEqual(["first"]);
    expect(warnings).toEqual([]);
    expect(textOf(await ended())).toBe("one two");
    expect(seen).toEqual(["first", "second"]);
  });

  test("never finds out, whatever it waits for, and the log names the step that was cut", async () => {
    const world = aWorld();
    const { seen } = world;
    const gate = Promise.withResolvers<void>();
    const agent = defineAgent({
      ...IDENTITY,
      async *run({ step, signal }) {
        try {
          yield "working: ";
          const charge = async (): Promise<string> => {
            seen.push("charging");
            signal.addEventListener("abort", () => seen.push("signal"));
            await gate.promise;
            return "charged";
          };
          yield await step("charge", charge, { idempotent: false });
        } catch (error) {
          seen.push(error instanceof StepUnknownError ? "unknown" : "caught");
          yield "unknown";
        } finally {
          seen.push("finally");
        }
      },
    });

    const { seenAtStop, warnings, ended } = await stopped(world, agent, {
      begun: "charging",
      drainMs: 20,
    });
    gate.resolve();
    await sleep(50);

    expect(seenAtStop).toEqual(["charging"]);
    expect(seen).toEqual(["charging"]);
    expect(warnings).toEqual([expect.stringContaining('"work":["step \\"charge\\""]')]);
    expect(textOf(await ended())).toBe("working: unknown");
    expect(seen).toEqual(["charging", "unknown", "finally"]);
  });

  test("begins a step later whose start was being stored, as if it had not been announced", async () => {
    const world = aWorld();
    const { seen } = world;
    const agent = defineAgent({
      ...IDENTITY,
      async run({ step }) {
        return step("charge", () => (seen.push("charge"), "charged"));
      },
    });
    const stored = Promise.withResolvers<void>();
    const slow = (backend: Backend): Backend => ({
      tasks: backend.tasks,
      pushes: backend.pushes,
      retention: backend.retention,
      read: (taskId, after, limit) => backend.read(taskId, after, limit),
      watch: (taskId, wake) => backend.watch(taskId, wake),
      close: () => backend.close(),
      commit: async (commit) => {
        if (commit.events.some((json) => json.startsWith('{"kind":"internal:step-start"'))) {
          seen.push("storing");
          await stored.promise;
        }
        return backend.commit(commit);
      },
    });
    const first = await serveIn(world, agent, slow);
    const { task } = await first.remote.send("go", { wait: false });
    await expect.poll(() => seen).toContain("storing");

    const closed = first.server.close({ drainMs: DRAIN_MS });
    await sleep(50);
    stored.resolve();
    await closed;
    expect(seen).toEqual(["storing"]);
    const next = await serveIn(world, agent);

    const state = async () => (await next.remote.get(task!.id)).status.state;
    await expect.poll(state).toBe("completed");
    expect(textOf(await next.remote.get(task!.id))).toBe("charged");
    expect(seen).toEqual(["storing", "charge"]);
  });

  test("without a journal gets the drain to end", async () => {
    const world = aWorld();
    const { seen } = world;
    const gate = Promise.withResolvers<void>();
    const agent = defineAgent({
      ...IDENTITY,
      async *run() {
        yield "one ";
        seen.push("one");
        await gate.promise;
        yield "two";
      },
    });

    const { warnings, ended } = await stopped(world, agent, {
      begun: "one",
      drainMs: DRAIN_MS,
      meanwhile: () => gate.resolve(),
    });

    expect(warnings).toEqual([]);
    expect(textOf(await ended())).toBe("one two");
    expect(seen).toEqual(["one"]);
  });
});

describe("an agent with a model whose server stops", () => {
  test("ends its tool, asks the model nothing, and goes on at the next server", async () => {
    const world = aWorld();
    const { seen } = world;
    const gate = Promise.withResolvers<void>();
    const look = tool({
      name: "look",
      description: "Looks.",
      run: async () => {
        seen.push("look");
        await gate.promise;
        return "seen";
      },
    });
    const model = scriptedModel([[calls("look")], "Done."]);
    const agent = defineAgent({ ...IDENTITY, model, tools: [look] });

    const { warnings, ended } = await stopped(world, agent, {
      begun: "look",
      drainMs: DRAIN_MS,
      meanwhile: () => gate.resolve(),
    });

    expect(warnings).toEqual([]);
    expect(model.requests).toHaveLength(1);
    expect(textOf(await ended())).toBe("Done.");
    expect(seen).toEqual(["look"]);
  });

  test("leaves the code of a tool that was cut where it waits", async () => {
    const world = aWorld();
    const { seen } = world;
    const gate = Promise.withResolvers<void>();
    const look = tool({
      name: "look",
      description: "Looks.",
      async *run(_, { signal, stopped: over }) {
        signal.addEventListener("abort", () => seen.push("signal"));
        over.addEventListener("abort", () => seen.push("stopped"));
        try {
          yield "looking";
          seen.push("look");
          await gate.promise;
          yield "more";
          seen.push("went on");
        } finally {
          seen.push("finally");
        }
      },
    });
    const model = scriptedModel([[calls("look")], "I do not know."]);
    const agent = defineAgent({ ...IDENTITY, model, tools: [look] });

    const { warnings, ended } = await stopped(world, agent, { begun: "look", drainMs: 20 });
    gate.resolve();
    await sleep(50);

    expect(seen).toEqual(["look", "stopped"]);
    expect(warnings).toEqual([expect.stringContaining('"work":["the tool look"]')]);
    expect(textOf(await ended())).toBe("I do not know.");
  });

  test("does not wait for its sub-agent, which ends its own step", async () => {
    const world = aWorld();
    const { seen } = world;
    const gate = Promise.withResolvers<void>();
    const helper = defineAgent({
      name: "Helper",
      description: "Helps.",
      async run({ step }) {
        const first = await step("first", async () => {
          seen.push("first");
          await gate.promise;
          return "one";
        });
        return `${first} ${await step("second", () => (seen.push("second"), "two"))}`;
      },
    });
    const model = scriptedModel([[calls("helper", { message: "help" })], "Done."]);
    const agent = defineAgent({ ...IDENTITY, model, subAgents: { helper } });
    const { seenAtStop, warnings, ended } = await stopped(world, agent, {
      begun: "first",
      drainMs: DRAIN_MS,
      meanwhile: () => gate.resolve(),
    });

    expect(seenAtStop).toEqual(["first"]);
    expect(warnings).toEqual([]);
    expect(textOf(await ended())).toBe("Done.");
    expect(seen).toEqual(["first", "second"]);
    const told = JSON.stringify(model.requests[1]?.transcript.at(-1));
    expect(told).toContain("one two");
  });
});

test("a program whose server stops ends its prompt", async () => {
  const world = aWorld();
  const memory = temporaryFolder();
  const agent = processAgent(acpOptions({ env: { MEMORY: memory } }));
  const { server, remote, warnings } = await serveIn(world, agent);
  const { task } = await remote.send("pause", { wait: false });
  await expect.poll(async () => textOf(await remote.get(task!.id))).toContain("one");

  await server.close({ drainMs: DRAIN_MS });
  const next = await serveIn(world, processAgent(acpOptions({ env: { MEMORY: memory } })));

  expect(warnings()).toEqual([]);
  const ended = await next.remote.get(task!.id);
  expect([ended.status.state, textOf(ended)]).toEqual(["completed", "one two"]);
});
