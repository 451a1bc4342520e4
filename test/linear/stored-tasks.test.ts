import { openSqliteBackend } from "@convoke/backends/sqlite";
import type { Backend, CommitResult } from "@convoke/engine";
import { expect, onTestFinished } from "vitest";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";

const FEW = 300;
const MANY = 6_000;

/** A cost that grew with the tasks would be twenty times as high. */
const MOST_GROWTH = 3;

/** How many calls of one kind are measured together. */
const CALLS = 100;
const ROUNDS = 5;

const OWNER = "ann";
const TASKS_OF_A_CONTEXT = 10;

type Work = (store: Store, call: number) => Promise<unknown>;

const WORKS: Readonly<Record<string, Work>> = {
  "a look at one task": ({ backend, stored }, call) =>
    backend.tasks.get(taskIdOf((call * 37) % stored)),
  "a read of its log": ({ backend, stored }, call) =>
    backend.read(taskIdOf((call * 37) % stored), 0, 10),
  "the first page of a list": ({ backend }) => backend.tasks.list({ owner: OWNER, limit: 20 }),
  "the first page of one state": ({ backend }) =>
    backend.tasks.list({ owner: OWNER, state: "completed", limit: 20 }),
  "the list of one context": ({ backend }, call) =>
    backend.tasks.list({ owner: OWNER, contextId: contextOf(call), limit: 20 }),
  "a conversation": ({ backend }, call) =>
    backend.tasks.ofContext({
      owner: OWNER,
      contextId: contextOf(call),
      before: { createdAt: Number.MAX_SAFE_INTEGER, taskId: "u" },
      limit: 50,
    }),
  "what changed since the newest": ({ backend, stored }) =>
    backend.tasks.changedSince({ owner: OWNER, at: stored }),
  "a new task": (store) => create(store.backend, store.stored + store.created++),
  "one more event": ({ backend, stored }, call) => append(backend, (call * 37) % stored),
};

verifies(
  "G9",
  `in SQLite, a request costs the same with ${MANY} stored tasks as with ${FEW}`,
  async () => {
    const few = await storeOf(FEW);
    const many = await storeOf(MANY);
    const growth: Record<string, number> = {};

    for (const [name, work] of Object.entries(WORKS)) {
      await cpuOf(few, work);
      await cpuOf(many, work);
      const rounds: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const ofFew = await cpuOf(few, work);
        rounds.push((await cpuOf(many, work)) / ofFew);
      }
      growth[name] = median(rounds);
    }

    const grown = Object.entries(growth).filter(([, ratio]) => ratio >= MOST_GROWTH);
    expect(grown).toEqual([]);
  },
);

interface Store {
  readonly backend: Backend;
  readonly stored: number;
  created: number;
}

/** A store with this many tasks of one owner, in contexts of ten. */
async function storeOf(tasks: number): Promise<Store> {
  const backend = await openSqliteBackend({ folder: temporaryFolder(), durability: "process" });
  onTestFinished(() => backend.close());
  for (let first = 0; first < tasks; first += FEW) {
    await Promise.all(Array.from({ length: FEW }, (_, place) => create(backend, first + place)));
  }
  const { total } = await backend.tasks.list({ owner: OWNER, limit: 1 });
  expect(total).toBe(tasks);
  return { backend, stored: tasks, created: 0 };
}

async function create(backend: Backend, task: number): Promise<void> {
  const committed = await backend.commit({
    taskId: taskIdOf(task),
    epoch: 1,
    events: ['{"kind":"task"}', '{"kind":"status-update"}'],
    // A few are unfinished, so that there is something to append to.
    state: isOpen(task) ? "working" : "completed",
    statusAt: task,
    listed: true,
    create: { owner: OWNER, contextId: contextOf(task), agent: "Stored", createdAt: task },
    message: { messageId: `message-${task}`, digest: "" },
  });
  mustBeStored(committed);
}

/** To the task, or to the nearest unfinished one. */
async function append(backend: Backend, task: number): Promise<void> {
  const open = task - (task % OPEN_EACH);
  const committed = await backend.commit({
    taskId: taskIdOf(open),
    epoch: 1,
    events: ['{"kind":"artifact-update"}'],
    state: "working",
    statusAt: open,
    listed: true,
  });
  mustBeStored(committed);
}

/** Without `expect`, which would add to the measured time. */
function mustBeStored({ kind }: CommitResult): void {
  if (kind !== "committed") throw new Error(`a step was refused as ${kind}`);
}

/** One task of this many has not ended. */
const OPEN_EACH = 3;

function isOpen(task: number): boolean {
  return task % OPEN_EACH === 0;
}

/** In milliseconds, of all threads: the SQLite writer has its own. */
async function cpuOf(store: Store, work: Work): Promise<number> {
  const before = process.cpuUsage();
  for (let call = 0; call < CALLS; call++) await work(store, call);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function taskIdOf(task: number): string {
  return `t${String(task).padStart(9, "0")}`;
}

function contextOf(task: number): string {
  return `c${Math.floor(task / TASKS_OF_A_CONTEXT)}`;
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)]!;
}
