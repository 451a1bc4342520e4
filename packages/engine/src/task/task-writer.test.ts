import type { AgentEvent } from "@convoke/protocol";
import { expect, test } from "vitest";
import type { CommitResult, CommitStep } from "../log/backend.ts";
import { createJsonLogger } from "../logging/logger.ts";
import { createMemoryBackend } from "../memory/index.ts";
import { StorageHealth } from "./storage-health.ts";
import { TaskWriter } from "./task-writer.ts";

const nothing = (): void => {};

const HOOKS = {
  onStorageError: nothing,
  onStored: nothing,
  onStale: nothing,
  onEnded: nothing,
  onStatus: nothing,
};

const FACTS = {
  taskId: "t1",
  owner: "ann",
  epoch: 1,
  status: { state: "submitted", statusAt: 1 },
  listed: true,
  hooks: HOOKS,
} as const;
const CREATE = { owner: "ann", contextId: "c1", agent: "greeter", createdAt: 1 };

const status = { state: "submitted", timestamp: "2026-01-01T00:00:00.000Z" } as const;
const task = { kind: "task", id: "t1", contextId: "c1", status } as AgentEvent;
const output = (name: string): AgentEvent => ({ kind: "internal:test/note", taskId: "t1", name });

test("the storage does not count as failing after a write that failed and that another process made obsolete", async () => {
  const memory = createMemoryBackend();
  let isFirst = true;
  const backend = {
    ...memory,
    commit: async (step: CommitStep): Promise<CommitResult> => {
      if (step.create !== undefined) return memory.commit(step);
      if (!isFirst) return { kind: "stale", epoch: 2, head: 5 };
      isFirst = false;
      throw new Error("the connection was lost");
    },
  };
  const health = new StorageHealth(createJsonLogger("silent", nothing));
  const writer = new TaskWriter({
    ...FACTS,
    backend,
    hooks: {
      ...HOOKS,
      onStorageError: ({ taskId }, error) => health.failed(error, taskId),
      onStored: ({ taskId }) => health.worked(taskId),
    },
  });

  await writer.append([task], { epoch: 1, create: CREATE });
  await writer.append([output("first")], { epoch: 1, insist: true });

  expect(health.isFailing).toBe(false);
});

/** A writer, and the steps that it has sent to its store. */
function observed(): { readonly writer: TaskWriter; readonly steps: readonly CommitStep[] } {
  const memory = createMemoryBackend();
  const steps: CommitStep[] = [];
  const commit = (step: CommitStep): Promise<CommitResult> => {
    steps.push(step);
    return memory.commit(step);
  };
  return { writer: new TaskWriter({ ...FACTS, backend: { ...memory, commit } }), steps };
}

test("only chunks may wait to be stored, unless something waits for them", async () => {
  const { writer, steps } = observed();
  const chunk = (text: string): AgentEvent => ({
    kind: "artifact-update",
    taskId: "t1",
    contextId: "c1",
    artifact: { artifactId: "answer-1", parts: [{ kind: "text", text }] },
  });
  const run = { epoch: 1, insist: true };

  await writer.append([task], { epoch: 1, create: CREATE });
  await writer.append([output("note")], run);
  await writer.append([chunk("a")], run);
  await writer.append([chunk("b"), output("note")], run);
  const awaited = writer.append([chunk("c")], run);
  writer.hurry();
  await awaited;
  await writer.append([chunk("d")], run);
  await writer.append([], { ...run, mailbox: ["7"] });

  const may = steps.map(({ mayWait }) => mayWait);
  expect(may).toEqual([undefined, undefined, true, undefined, undefined, true, undefined]);
});

test("a mailbox entry is handled by a step of its own, after the output that waits to be stored", async () => {
  const { writer, steps } = observed();

  await writer.append([task], { epoch: 1, create: CREATE });
  await Promise.all([
    writer.append([output("first")], { epoch: 1, insist: true }),
    writer.append([output("second")], { epoch: 1, insist: true }),
    writer.append([], { epoch: 1, insist: true, mailbox: ["7"] }),
  ]);

  expect(steps.slice(1).map(({ events, mailbox }) => [events.length, mailbox])).toEqual([
    [2, undefined],
    [0, ["7"]],
  ]);
});

test("output of a run whose task was refused is refused as well, and not sent to the store", async () => {
  const steps: CommitStep[] = [];
  const refused = { kind: "duplicate", taskId: "t0", digest: "d" } as const;
  const commit = async (step: CommitStep): Promise<CommitResult> => {
    steps.push(step);
    await isLate.promise;
    return refused;
  };
  const isLate = Promise.withResolvers<void>();
  const writer = new TaskWriter({ ...FACTS, backend: { ...createMemoryBackend(), commit } });

  const creation = writer.append([task], { epoch: 1, create: CREATE });
  await expect.poll(() => steps.length, { timeout: 20_000 }).toBe(1);
  const late = writer.append([output("late")], { epoch: 1, insist: true });
  isLate.resolve();

  expect(await Promise.all([creation, late])).toEqual([refused, { kind: "unknown" }]);
  expect(steps).toHaveLength(1);
});
