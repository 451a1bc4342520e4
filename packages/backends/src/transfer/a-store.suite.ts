import type { Backend, CommitStep } from "@convoke/engine";

const CREATE = { contextId: "c1", agent: "Greeter", agentId: "greeter" };

/** Fills a store with tasks of all kinds, with odd texts, and with what retention leaves behind. */
export async function fillStore(backend: Backend, tasks = 20): Promise<void> {
  for (let index = 0; index < tasks; index += 1) await writeTask(backend, index);
  await backend.retention.prune({ endedBefore: 2, keep: 1000, limit: 100 });
  await backend.retention.compact(taskId(2), { seq: 3, json: '{"compacted":true}' }, [1]);
}

export function taskId(index: number): string {
  return `0198${String(index).padStart(6, "0")}`;
}

export function ownerOf(index: number): string {
  return index % 5 === 0 ? "ann\u0000\u0001 💛" : "anonymous";
}

async function writeTask(backend: Backend, index: number): Promise<void> {
  const id = taskId(index);
  const owner = ownerOf(index);
  const step = (more: Partial<CommitStep>): CommitStep => ({
    taskId: id,
    epoch: 1,
    events: [],
    state: "working",
    statusAt: 10 + index,
    listed: index % 7 !== 6,
    ...more,
  });
  await commit(backend, {
    ...step({ state: "submitted", events: ['{"kind":"task"}'] }),
    create: {
      ...CREATE,
      contextId: `c${index % 3}`,
      owner,
      createdAt: 10 + index,
      ...(index % 5 === 2 && { host: "web-1" }),
    },
    message: { messageId: `m${index}`, digest: `digest ${index}` },
    ...(index % 4 === 1 && {
      push: { id: "hook", config: '{"url":"http://127.0.0.1:1/hook"}', cursor: 0 },
    }),
  });
  const events = ["a", "b", "ü 💛"].map((text) =>
    JSON.stringify({ kind: "chunk", long: "x".repeat(40), text }),
  );
  await commit(backend, step({ events, snapshot: { seq: 2, json: `{"index":${index}}` } }));
  if (index % 4 === 1) {
    const failure = { since: 5, problem: "refused\u0000" };
    const progress = {
      taskId: id,
      id: "hook",
      generation: 1,
      cursor: 2,
      state: "active",
      failure,
    } as const;
    await backend.pushes.progress(progress);
  }
  await commit(backend, step(lastStep(index)));
}

/** The last step: some tasks ask, some sleep, some run, and the others have ended. */
function lastStep(index: number): Partial<CommitStep> {
  switch (index % 10) {
    case 3:
      return { state: "input-required", epoch: 2 };
    case 4:
      return { wakeAt: 4_000_000_000_000 };
    case 5:
      return { epoch: 3 };
    default:
      return {
        state: "completed",
        statusAt: index < 2 ? 1 : 100 + index,
        events: ['{"kind":"end"}'],
      };
  }
}

async function commit(backend: Backend, step: CommitStep): Promise<void> {
  const result = await backend.commit(step);
  if (result.kind !== "committed") throw new Error(`${step.taskId} is ${result.kind}`);
}
