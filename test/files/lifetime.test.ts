import { Retention } from "@convoke/engine";
import { createMemoryBackend } from "@convoke/engine/memory";
import { defineAgent } from "convoke";
import { expect, test } from "vitest";
import { anEngine, memoryLogger, tell } from "../engine/an-engine.ts";
import { CONTENT, DIGEST, aFileMessage, copier, fileIn } from "./a-file.ts";

const DAY_MS = 24 * 60 * 60_000;

/** Sends a file to an engine, and waits for the end of its task. */
async function copyIn(engine: ReturnType<typeof anEngine>): Promise<string> {
  const { live } = await tell(engine, "", aFileMessage());
  await live.run?.ended;
  return live.writer.taskId;
}

test("the files of a task go with it, and those of another task with the same content stay", async () => {
  const backend = createMemoryBackend();
  const engine = anEngine(copier, backend);
  const [first, second] = [await copyIn(engine), await copyIn(engine)];
  const retention = new Retention(engine, memoryLogger(), { maxTasks: 1 });

  await retention.run();
  await retention.close();

  expect(await backend.blobs!.size({ taskId: first, digest: DIGEST })).toBe(undefined);
  expect(await backend.blobs!.size({ taskId: second, digest: DIGEST })).toBe(CONTENT.length);
});

test("a file that was stored without a commit is deleted after a day", async () => {
  const backend = createMemoryBackend();
  let now = Date.now();
  const engine = anEngine(copier, backend, { now: () => now });
  const kept = await copyIn(engine);
  const orphan = { taskId: "never-created", digest: DIGEST, size: CONTENT.length };
  await backend.blobs!.put(orphan, () => [CONTENT]);
  const sweep = async (): Promise<void> => {
    const retention = new Retention(engine, memoryLogger());
    await retention.run();
    await retention.close();
  };

  await sweep();
  expect(await backend.blobs!.size(orphan)).toBe(CONTENT.length);
  now += DAY_MS + 1000;
  await sweep();

  expect(await backend.blobs!.size(orphan)).toBe(undefined);
  expect(await backend.blobs!.size({ taskId: kept, digest: DIGEST })).toBe(CONTENT.length);
});

test("a task that takes a file from an earlier task of its conversation gets a copy", async () => {
  const backend = createMemoryBackend();
  const passer = defineAgent({
    name: "Passer",
    description: "Passes on the file of the first message.",
    inputModes: ["*/*"],
    async *run({ conversation, artifact }) {
      const given = conversation.flatMap(({ parts }) => parts);
      if (given.length > 0) yield artifact("passed", [fileIn(given)]);
    },
  });
  const engine = anEngine(passer, backend);
  const first = await tell(engine, "", aFileMessage());
  await first.live.run?.ended;
  const second = await tell(engine, "again", { contextId: first.live.contextId });
  await second.live.run?.ended;

  await backend.blobs!.deleteTask(first.live.writer.taskId);

  const part = fileIn(second.live.task.artifacts?.[0]?.parts);
  expect(part.file.stored?.taskId).toBe(second.live.writer.taskId);
  expect(CONTENT.equals(await engine.files.bytes(part))).toBe(true);
});

test("a file of which the content was lost is shown empty, and the operator's log says so", async () => {
  const backend = createMemoryBackend();
  const logger = memoryLogger();
  const engine = anEngine(copier, backend, { logger });
  const taskId = await copyIn(engine);
  await backend.blobs!.deleteTask(taskId);

  const { task } = await engine.tasks.find(taskId, { owner: "ann" });
  const shown = await engine.files.show(task);

  expect(fileIn(shown.artifacts?.[0]?.parts).file.bytes).toBe("");
  expect(logger.lines.join("\n")).toContain(`a file of a task is missing`);
  expect(logger.lines.join("\n")).toContain(DIGEST);
});
