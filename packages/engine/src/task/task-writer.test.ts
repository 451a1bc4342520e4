import type { AgentEvent } from "@convoke/protocol";
import { expect, test } from "vitest";
import type { CommitStep } from "../log/backend.ts";
import { createMemoryBackend } from "../memory/index.ts";
import { TaskWriter } from "./task-writer.ts";

const nothing = (): void => {};

test("a mailbox entry is handled by a step of its own, after the output that waits to be stored", async () => {
  const memory = createMemoryBackend();
  const steps: CommitStep[] = [];
  const backend = {
    ...memory,
    commit: (step: CommitStep) => {
      steps.push(step);
      return memory.commit(step);
    },
  };
  const writer = new TaskWriter({
    backend,
    taskId: "t1",
    epoch: 1,
    status: { state: "submitted", statusAt: 1 },
    listed: true,
    onStorageError: nothing,
    onStored: nothing,
    onStale: nothing,
    onUnsure: nothing,
    onEnded: nothing,
    onStatus: nothing,
  });
  const status = { state: "submitted", timestamp: "2026-01-01T00:00:00.000Z" } as const;
  const task = { kind: "task", id: "t1", contextId: "c1", status } as AgentEvent;
  const create = { owner: "ann", contextId: "c1", agent: "greeter", createdAt: 1 };
  const output = (name: string): AgentEvent => ({ kind: "internal:test/note", taskId: "t1", name });

  await writer.append([task], { epoch: 1, create });
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
