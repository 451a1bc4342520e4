import type { CommitStep, Seq, TaskRecord } from "@convoke/engine";
import fc from "fast-check";
import { describe, expect, onTestFinished } from "vitest";
import { needsPostgres } from "../harness/postgres.ts";
import { verifies } from "../verifies.ts";
import { type Disk, aMemoryDisk, aPostgresDisk, aSqliteDisk } from "./a-disk.ts";
import { type BackendCommand, backendCommands } from "./backend-commands.ts";
import { BackendModel, isEnded } from "./backend-model.ts";
import { MODEL_TIMEOUT_MS, type Tally, report, runsOf } from "./runs.ts";

const TASKS = ["t0", "t1", "t2", "t3"];

/** A backend and its model. Many trials share a database, so each has its own ids. */
class Trial {
  readonly #disk: Disk;
  readonly #name: string;
  readonly #model: BackendModel;
  #heard: { readonly heads: readonly Seq[]; readonly expected: readonly Seq[] }[] = [];

  constructor(disk: Disk, name: string) {
    this.#disk = disk;
    this.#model = new BackendModel(disk.isShared === true);
    this.#name = name;
  }

  async perform(command: BackendCommand): Promise<void> {
    const { backend } = this.#disk;
    switch (command.kind) {
      case "commit": {
        const steps = command.steps.map((step) => this.#own(step));
        const answers = steps.map((step) => backend.commit(step).catch(() => "misuse"));
        const expected = steps.map((step) => this.#model.commit(step));
        expect(await Promise.all(answers)).toEqual(expected);
        return;
      }
      case "read": {
        const { after, limit } = command;
        const taskId = this.#id(command.taskId);
        const page = await backend.read(taskId, after, limit);
        expect(page).toMatchObject(this.#model.read(taskId, after, limit));
        return;
      }
      case "follow": {
        const heads: Seq[] = [];
        const taskId = this.#id(command.taskId);
        backend.watch(taskId, (head) => heads.push(head));
        this.#heard.push({ heads, expected: this.#model.follow(taskId) });
        return;
      }
      case "list":
        return this.#list(command);
      case "reopen":
        this.#checkHeard();
        this.#heard = [];
        this.#model.reopen();
        await this.#disk.reopen();
        return;
      default:
        return command satisfies never;
    }
  }

  /** Asserts that every read returns the model's answer. */
  async check(): Promise<void> {
    const { backend } = this.#disk;
    this.#checkHeard();
    for (const taskId of TASKS.map((id) => this.#id(id))) {
      expect(await backend.read(taskId, 0, 1000)).toMatchObject(this.#model.read(taskId, 0, 1000));
      expect(await backend.tasks.get(taskId)).toEqual(this.#model.record(taskId));
    }
    expect(await backend.tasks.unfinished(this.#name, 10)).toEqual(
      this.#model.records((record) => !isEnded(record)).toSorted(byId),
    );
    expect(await backend.tasks.waking(10)).toEqual(
      this.#model
        .records(({ wakeAt }) => wakeAt !== undefined)
        .toSorted((a, b) => a.wakeAt! - b.wakeAt! || byId(a, b)),
    );
  }

  /** Leaves nothing for later trials to find. */
  async end(): Promise<void> {
    for (const { taskId } of this.#model.records((record) => !isEnded(record))) {
      const end = { epoch: 9, events: [], state: "canceled", statusAt: 9, listed: false } as const;
      await this.#disk.backend.commit({ taskId, ...end });
    }
  }

  /** Two per page, so that there are several pages. */
  async #list({ owner: name, state }: Extract<BackendCommand, { kind: "list" }>): Promise<void> {
    const owner = this.#id(name);
    const expected = this.#model
      .records(
        (task) => task.listed && task.owner === owner && (state ?? task.state) === task.state,
      )
      .toSorted((a, b) => b.statusAt - a.statusAt || byId(b, a));
    const listed: TaskRecord[] = [];
    for (let after: TaskRecord | undefined; ;) {
      const query = { owner, limit: 2, ...(state && { state }), ...(after && { after }) };
      const { records, total } = await this.#disk.backend.tasks.list(query);
      expect(total).toBe(expected.length);
      listed.push(...records);
      after = records.at(-1);
      if (records.length < 2) break;
    }
    expect(listed).toEqual(expected);
  }

  #id(id: string): string {
    return `${this.#name} ${id}`;
  }

  #own(step: CommitStep): CommitStep {
    const { taskId, create } = step;
    return {
      ...step,
      taskId: this.#id(taskId),
      ...(create && { create: { ...create, owner: this.#id(create.owner) } }),
    };
  }

  #checkHeard(): void {
    for (const { heads, expected } of this.#heard) {
      expect(this.#disk.isShared ? onlyThese(heads, expected) : heads).toEqual(expected);
    }
  }
}

function byId(a: TaskRecord, b: TaskRecord): number {
  return a.taskId < b.taskId ? -1 : 1;
}

/** The heads without those that are not expected at their place. */
function onlyThese(heads: readonly Seq[], expected: readonly Seq[]): readonly Seq[] {
  const found: Seq[] = [];
  for (const head of heads) if (head === expected[found.length]) found.push(head);
  return found;
}

async function tryOut(take: () => Promise<Disk>, numRuns: number): Promise<Tally> {
  const tally = { runs: 0, commands: 0 };
  let trials = 0;
  const commands = fc.array(backendCommands, { maxLength: 40, size: "max" });
  const property = fc.asyncProperty(commands, async (plan) => {
    const trial = new Trial(await take(), String(trials++).padStart(9, "0"));
    try {
      for (const command of plan) await trial.perform(command);
      await trial.check();
    } finally {
      await trial.end();
    }
    tally.runs++;
    tally.commands += plan.length;
  });
  await fc.assert(property, { numRuns });
  return tally;
}

describe("a backend behaves like a list of events for each task", () => {
  verifies(
    ["G4", "G5", "G6"],
    "in memory",
    async () => {
      const tally = await tryOut(aMemoryDisk, runsOf(500));

      report("backend model, memory", tally);
      expect(tally.commands).toBeGreaterThan(10 * tally.runs);
    },
    MODEL_TIMEOUT_MS,
  );

  verifies(
    ["G4", "G5", "G6"],
    "in SQLite, closed and reopened at any moment",
    async () => {
      const disk = await aSqliteDisk();
      onTestFinished(() => disk.close());

      const tally = await tryOut(async () => disk, runsOf(15, { onSqlite: true }));

      report("backend model, SQLite", tally);
      expect(tally.commands).toBeGreaterThan(0);
    },
    MODEL_TIMEOUT_MS,
  );

  describe("on a database server", () => {
    const address = needsPostgres();

    verifies(
      ["G4", "G5", "G6"],
      "in Postgres, closed and reopened at any moment",
      async () => {
        const disk = await aPostgresDisk(await address());
        onTestFinished(() => disk.close());

        const tally = await tryOut(async () => disk, runsOf(8, { onSqlite: true }));

        report("backend model, Postgres", tally);
        expect(tally.commands).toBeGreaterThan(0);
      },
      MODEL_TIMEOUT_MS,
    );
  });
});
