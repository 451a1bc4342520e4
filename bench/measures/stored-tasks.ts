import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import type { Backend } from "@convoke/engine";
import { type Answer, getTask, inFlight, listTasks, send } from "../client.ts";
import { type Contender, bothVersions } from "../contenders.ts";
import { type Samples, costOf, interleave, median } from "../rounds.ts";
import { type Row, short } from "../table.ts";
import { Target } from "../target.ts";

interface Options {
  readonly few: number;
  readonly many: number;
  readonly calls: number;
  readonly rounds: number;
  readonly data: string;
  readonly limit: number;
}

type Work = (contender: Contender, stored: number) => Promise<Answer>;

const WORKS: Readonly<Record<string, Work>> = {
  GetTask: (contender, stored) => getTask(contender, taskIdOf(Math.floor(Math.random() * stored))),
  "ListTasks, first page": (contender) => listTasks(contender, 50),
  "a new task": (contender) => send(contender, { manner: "burst", count: 1 }),
};

/** CPU of the same request with many stored tasks relative to few (G9). */
export async function storedTasks(options: Options): Promise<readonly Row[]> {
  const { few, many, calls, rounds, data, limit } = options;
  const small = await targetWith(few, data);
  const large = await targetWith(many, data);
  try {
    const rows: Row[] = [];
    for (const [name, work] of Object.entries(WORKS)) {
      const sizes = new Map([
        [small, few],
        [large, many],
      ]);
      const sample = async (contender: Contender): Promise<number> => {
        const stored = sizes.get(contender) ?? few;
        const cost = await costOf(contender, () =>
          inFlight(8, calls, () => work(contender, stored)),
        );
        return cost.value / calls;
      };
      // Once to warm up, then measured.
      await interleave([small, large], 1, sample);
      rows.push(
        rowOf(name, await interleave([small, large], rounds, sample), {
          small,
          large,
          limit,
          few,
          many,
        }),
      );
    }
    return rows;
  } finally {
    await Promise.all([small.target.close(), large.target.close()]);
  }
}

function rowOf(
  name: string,
  samples: Samples<number>,
  facts: { small: Contender; large: Contender; limit: number; few: number; many: number },
): Row {
  const { small, large, limit, few, many } = facts;
  const at = (contender: Contender): number => median(samples.get(contender) ?? []);
  const growth = at(large) / at(small);
  return {
    work: `${name} with ${many} stored tasks over ${few}`,
    ours: `${short(at(large))} / ${short(at(small))} µs`,
    ratio: short(growth),
    budget: String(limit),
    isMet: growth <= limit,
    sdkV1: "",
    sdkV03: "",
  };
}

async function targetWith(tasks: number, data: string): Promise<Contender> {
  const folder = mkdtempSync(join(data, `stored-${tasks}-`));
  await fill(folder, tasks);
  const target = await Target.start("convoke.ts", { BENCH_DATA: folder });
  return bothVersions(target)["1.0"];
}

/** How many steps are in flight at a time. */
const AT_ONCE = 2000;

/** Fills a folder with ended tasks, one millisecond apart. */
async function fill(folder: string, tasks: number): Promise<void> {
  const backend = await openSqliteBackend({ folder, durability: "process" });
  const began = Date.now() - tasks;
  for (let first = 0; first < tasks; first += AT_ONCE) {
    const count = Math.min(AT_ONCE, tasks - first);
    await Promise.all(
      Array.from({ length: count }, (_, place) => store(backend, first + place, began)),
    );
  }
  await backend.close();
}

function store(backend: Backend, task: number, began: number): Promise<unknown> {
  const statusAt = began + task;
  const taskId = taskIdOf(task);
  const contextId = `context-${task}`;
  const status = { state: "completed", timestamp: new Date(statusAt).toISOString() };
  const parts = [{ kind: "text", text: "done" }];
  const artifacts = [{ artifactId: "answer-1", parts }];
  return backend.commit({
    taskId,
    epoch: 1,
    events: [JSON.stringify({ kind: "task", id: taskId, contextId, status, artifacts })],
    state: "completed",
    statusAt,
    listed: true,
    create: {
      owner: "anonymous",
      contextId,
      agent: "Bench",
      agentId: "bench",
      createdAt: statusAt,
    },
    message: { messageId: `stored-${task}`, digest: "" },
  });
}

function taskIdOf(task: number): string {
  return `01a1dd92-3a70-7000-8000-${task.toString(16).padStart(12, "0")}`;
}
