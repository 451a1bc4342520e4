import { openPostgresBackend } from "@convoke/backends/postgres";
import type { Backend, Sharing } from "@convoke/engine";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { needsPostgres } from "../harness/postgres.ts";
import { verifies } from "../verifies.ts";
import { AGENT, OWNER, fill, taskIdAt } from "./fill.ts";

const FEW = 1000;
const MANY = Number(process.env["CONVOKE_STORED_TASKS"] ?? 1_000_000);
const MOST = 1.3;
/** How many tasks are read, spread over all: what is in use stays in the memory of the database. */
const IN_USE = 100;
const BATCHES = 60;
const PER_BATCH = 20;

const address = needsPostgres();

describe(`with ${MANY} tasks in the database as with ${FEW},`, () => {
  let few: Storage;
  let many: Storage;

  beforeAll(async () => {
    few = await aStorage(FEW);
    many = await aStorage(MANY);
  }, 1_800_000);

  afterAll(async () => {
    await few.backend.close();
    await many.backend.close();
  });

  verifies(
    "G9",
    "a task is read",
    async () => {
      await expectSameCost("get", ({ backend, tasks }) =>
        backend.tasks.get(taskIdAt(Math.floor(Math.random() * IN_USE) * (tasks / IN_USE))),
      );
    },
    600_000,
  );

  verifies(
    "G9",
    "the newest tasks are listed",
    async () => {
      await expectSameCost("list", ({ backend }) =>
        backend.tasks.list({ owner: OWNER, agentId: AGENT, limit: 50 }),
      );
    },
    600_000,
  );

  verifies(
    "G9",
    "a released task is claimed",
    async () => {
      const query = { agentIds: [AGENT], dueAt: 0, limit: 1 };
      await expectSameCost(
        "claim",
        async ({ sharing }) => {
          expect(await sharing.claim(query)).toHaveLength(1);
        },
        ({ sharing }) => sharing.release(["open"]),
      );
    },
    600_000,
  );

  /** Compares the median times of single calls, which are measured in turn. */
  async function expectSameCost(
    name: string,
    work: (storage: Storage) => Promise<unknown>,
    prepare: (storage: Storage) => Promise<unknown> = async () => undefined,
  ): Promise<void> {
    const times = new Map<Storage, number[]>([
      [few, []],
      [many, []],
    ]);
    for (let batch = 0; batch < BATCHES; batch++) {
      for (const [storage, taken] of times) {
        for (let call = 0; call < PER_BATCH; call++) {
          await prepare(storage);
          const began = performance.now();
          await work(storage);
          // The first batches warm up.
          if (batch >= BATCHES / 4) taken.push(performance.now() - began);
        }
      }
    }
    const [small, large] = [few, many].map((storage) => median(times.get(storage)!)) as [
      number,
      number,
    ];
    process.stdout.write(
      `${name}: ${large.toFixed(3)} ms with ${MANY} tasks, ${small.toFixed(3)} ms with ${FEW}: ${(large / small).toFixed(2)}\n`,
    );
    expect(large / small).toBeLessThan(MOST);
  }
});

interface Storage {
  readonly tasks: number;
  readonly backend: Backend;
  readonly sharing: Sharing;
}

/** A database with ended tasks, and one that this process works on. */
async function aStorage(tasks: number): Promise<Storage> {
  const url = await address();
  const backend = await openPostgresBackend({ url });
  const began = performance.now();
  const bytes = await fill(backend, url, tasks);
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  process.stdout.write(`${tasks} tasks: ${(bytes / 1e6).toFixed(1)} MB, filled in ${seconds} s\n`);
  const create = { owner: OWNER, contextId: "c", agent: AGENT, agentId: AGENT, createdAt: 1 };
  const step = { epoch: 1, events: ["{}"], state: "working", statusAt: 1, listed: true } as const;
  await backend.commit({ ...step, taskId: "open", create, running: true });
  return { tasks, backend, sharing: backend.sharing! };
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!;
}
