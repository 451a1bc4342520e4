import { openSqliteBackend } from "@convoke/backends/sqlite";
import { type CommitResult, type CommitStep } from "@convoke/engine";
import {
  type A2APart,
  type Message,
  isInterrupted,
  isTerminal,
  textOf,
  textOfParts,
} from "@convoke/protocol";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";

import { randomFrom } from "../harness/random.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import { World } from "../engine/a-world.ts";
import { tell } from "../engine/an-engine.ts";
import { type Program, Service, ordersOf, perform, problemsOf, programOf } from "./programs.ts";

/** Random programs of each sort: `CONVOKE_REPLAY_RUNS`, or a few for every day. */
const RUNS = Number(process.env["CONVOKE_REPLAY_RUNS"] ?? 12);
const AT_ONCE = 10;

/** A backend whose process dies at chosen commits, each of which may still be stored. */
async function mortalBackend(kills: readonly number[], random: () => number) {
  const stored = await openSqliteBackend({ folder: temporaryFolder() });
  let commits = 0;
  let deaths = 0;
  const commit = async (step: CommitStep): Promise<CommitResult> => {
    commits += 1;
    if (!kills.includes(commits)) return stored.commit(step);
    if (random() < 0.5) await stored.commit(step);
    deaths += 1;
    return new Promise(() => undefined);
  };
  const backend = new Proxy(stored, {
    get: (target, name) => {
      if (name === "commit") return commit;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { backend, deaths: () => deaths, close: () => stored.close() };
}

/** An answer that names its question, so that it is never taken for that of another. */
function answerTo({ parts }: Message): A2APart {
  const asked = parts.find((part) => part.kind === "data");
  const requestId = (asked?.data as { readonly requestId?: unknown } | undefined)?.requestId;
  return { kind: "data", data: { requestId, value: `answer to ${textOfParts(parts)}` } };
}

/** Runs a program in processes that die, and returns what is wrong at its end. */
async function run(program: Program, kills: readonly number[], random: () => number) {
  const service = new Service();
  const { backend, deaths, close } = await mortalBackend(kills, random);
  let life = 0;
  const world = new World(
    (turn) => {
      const own = life;
      return perform(turn, program, { service, isAlive: () => own === life });
    },
    { backend },
  );
  let isOver = false;
  const dying = (async () => {
    while (!isOver) {
      await delay(3);
      if (deaths() === life) continue;
      life += 1;
      // The next death may come before it has taken over.
      void world.restart().catch(() => undefined);
    }
  })();
  const { live } = await tell(world.engine, "go");
  const taskId = live.task.id;
  const answered = new Set<string>();
  const until = Date.now() + 30_000;
  let state = "working";
  while (!isTerminal(state as "working") && Date.now() < until) {
    await delay(5);
    const task = await world.task(taskId).catch(() => undefined);
    if (task === undefined) continue;
    ({ state } = task.status);
    const { message } = task.status;
    if (!isInterrupted(task.status.state) || message === undefined) continue;
    const key = `${message.messageId} ${life}`;
    if (answered.has(key)) continue;
    answered.add(key);
    void tell(world.engine, "", { taskId, parts: [answerTo(message)] }).catch(() => undefined);
  }
  isOver = true;
  await dying;
  const task = await world.task(taskId);
  world.engine.close();
  await close();
  if (task.status.state !== "completed") return [`the task is ${task.status.state}`];
  return problemsOf(program, { answer: textOf(task), service });
}

/** Seeds whose run ended wrongly, with what was wrong. */
async function failures(create: (random: () => number) => Program, mostKills: number) {
  const seeds = Array.from({ length: RUNS }, (_run, seed) => seed);
  const failed: (readonly [number, readonly string[]])[] = [];
  const worker = async (): Promise<void> => {
    for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
      const random = randomFrom(seed);
      const program = create(random);
      const count = mostKills === 1 ? 1 : Math.floor(random() * (mostKills + 1));
      const kills = Array.from({ length: count }, () => 2 + Math.floor(random() * 22));
      kills.sort((one, other) => one - other);
      const problems = await run(program, [...new Set(kills)], random);
      if (problems.length > 0) failed.push([seed, problems]);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return failed;
}

verifies(
  "G3",
  "four orders at once, killed at any commit: each is charged once, and has its own receipt",
  async () => {
    expect(await failures(ordersOf, 1)).toEqual([]);
  },
  3_600_000,
);

verifies(
  "G3",
  "a random program of loops, races, sleeps, questions and errors, killed again and again, ends as one that was not",
  async () => {
    expect(await failures((random) => programOf(random), 3)).toEqual([]);
  },
  3_600_000,
);

verifies(
  "G3",
  "with ids its code may also wait for timers and files of its own",
  async () => {
    expect(await failures((random) => programOf(random, true), 3)).toEqual([]);
  },
  3_600_000,
);
