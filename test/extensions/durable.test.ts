import type { AgentDefinition } from "convoke";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryBackend } from "@convoke/engine/memory";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { EXTENSIONS, type Task, userMessage } from "@convoke/protocol";
import { type Backend, acceptMessage } from "@convoke/engine";
import { describe, expect, onTestFinished, test } from "vitest";
import { World } from "../engine/a-world.ts";
import { CALLER } from "../engine/an-engine.ts";
import { verifies } from "../verifies.ts";

const { skill } = EXTENSIONS;
const OTHER = "urn:example:other:1";
const never = (): Promise<never> => new Promise(() => undefined);

/** Reports which attempt saw what, once the process has died during the first. */
const telling: AgentDefinition["run"] = async function* ({ step, attempt, extensions, skill: id }) {
  await step("first", () => 1);
  if (attempt === 1) await never();
  yield JSON.stringify({ attempt, active: [...extensions], skill: id });
};

let messages = 0;

async function send(
  world: World,
  extensions?: readonly string[],
  taskId?: string,
): Promise<string> {
  const message = {
    ...userMessage(`m${++messages}`, "go"),
    ...(taskId !== undefined && { taskId }),
    metadata: { [skill.uri]: { id: "translate" } },
  };
  const { live } = await acceptMessage(world.engine, {
    message,
    caller: CALLER,
    ...(extensions && { extensions: new Set(extensions) }),
  });
  return live.writer.taskId;
}

function said(task: Task): unknown {
  const [part] = task.artifacts?.at(-1)?.parts ?? [];
  return part?.kind === "text" ? JSON.parse(part.text) : undefined;
}

async function sqlite(): Promise<Backend> {
  const folder = await mkdtemp(join(tmpdir(), "convoke-extensions-"));
  const backend = await openSqliteBackend({ folder });
  onTestFinished(async () => {
    await backend.close();
    await rm(folder, { recursive: true, force: true });
  });
  return backend;
}

describe.each([
  ["in memory", async () => createMemoryBackend()],
  ["in SQLite", sqlite],
] as const)("a process that dies, with its tasks %s", (_, open) => {
  verifies("G3", "keeps what the message had activated", async () => {
    const world = new World(telling, { backend: await open() });
    const taskId = await send(world, [skill.uri, OTHER]);
    await world.hasEvent(taskId, "internal:step-end");

    await world.restart();

    expect(said(await world.settled(taskId))).toEqual({
      attempt: 2,
      active: [skill.uri, OTHER],
      skill: "translate",
    });
  });

  verifies("G3", "keeps nothing if nothing was activated", async () => {
    const world = new World(telling, { backend: await open() });
    const taskId = await send(world);
    await world.hasEvent(taskId, "internal:step-end");

    await world.restart();

    expect(said(await world.settled(taskId))).toEqual({ attempt: 2, active: [] });
    expect((await world.events(taskId)).map(({ kind }) => kind)).not.toContain(
      "internal:activated",
    );
  });

  verifies("G3", "distinguishes the turns of one task", async () => {
    const world = new World(
      async function* (turn) {
        const { id: taskId, contextId, history } = turn.task;
        if (history?.length !== 1) return yield* telling(turn) as AsyncGenerator<string>;
        const status = { state: "input-required" } as const;
        yield { kind: "status-update", taskId, contextId, status, final: true };
      },
      { backend: await open() },
    );
    const taskId = await send(world, [skill.uri]);
    await world.hasEvent(taskId, "internal:turn-end");
    await send(world, [OTHER], taskId);
    await world.hasEvent(taskId, "internal:step-end");

    await world.restart();

    expect(said(await world.settled(taskId))).toEqual({ attempt: 2, active: [OTHER] });
  });
});

test("an answer keeps the extensions of its turn, even if the run left memory in the meantime", async () => {
  const world = new World(async ({ ask, extensions }) => {
    await ask("well?");
    return JSON.stringify([...extensions]);
  });
  const taskId = await send(world, [OTHER]);
  await world.settled(taskId);

  await world.restart();
  await send(world, [skill.uri], taskId);

  await expect.poll(async () => said(await world.task(taskId))).toEqual([OTHER]);
});
