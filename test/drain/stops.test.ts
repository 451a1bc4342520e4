import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished } from "vitest";
import { needsPostgres } from "../harness/postgres.ts";
import { ScriptProcess } from "../harness/script-process.ts";
import { rpc } from "../operating/a-measured-server.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";

// The short form; `npm run test:stops` runs the full size.
const TASKS = Number(process.env["CONVOKE_STOPS_TASKS"] ?? 12);
const STEPS = Number(process.env["CONVOKE_STOPS_STEPS"] ?? 12);
const STOPS = Number(process.env["CONVOKE_STOPS"] ?? 3);
const IS_SHORT = process.env["CONVOKE_STOPS_TASKS"] === undefined;
const LOADS = IS_SHORT ? [false] : [false, true];
const DRAINS = IS_SHORT ? [10_000, 0] : [10_000, 1000, 100, 0];
/** A bound on hanging. */
const WITHIN_MS = 60_000 + STOPS * 30_000;

const SCRIPT = new URL("./stops-server.ts", import.meta.url);

/** A line that a server has recorded. */
interface Fact {
  readonly kind: "begin" | "end" | "caught" | "finally" | "stop";
  readonly pid: number;
  readonly at: number;
  readonly task: string;
  readonly n: number;
}

interface WorkedTask {
  readonly id: string;
  readonly status: { readonly state: string };
  readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[];
}

/** Servers that are stopped one after the other by SIGTERM, and replaced at once. */
class Stopped {
  /** How long each took to stop. */
  readonly stopsMs: number[] = [];
  readonly #env: Readonly<Record<string, string>>;
  readonly #servers: ScriptProcess[];
  readonly #records = join(temporaryFolder(), "records");
  #next = 0;

  constructor(count: number, env: Readonly<Record<string, string>>) {
    this.#env = { ...env, CONVOKE_RECORDS: this.#records };
    this.#servers = Array.from({ length: count }, () => this.#start());
  }

  #start(): ScriptProcess {
    const server = new ScriptProcess(SCRIPT, this.#env);
    onTestFinished(async () => void (await server.kill()));
    return server;
  }

  async stopOne(): Promise<void> {
    const place = this.#next++ % this.#servers.length;
    const server = this.#servers[place]!;
    await server.ready;
    const began = performance.now();
    await server.kill("SIGTERM");
    this.stopsMs.push(performance.now() - began);
    expect(server.end).toMatchObject({ code: 0 });
    this.#servers[place] = this.#start();
  }

  /** Calls any of the servers until one answers. */
  async call<T>(method: string, params: object): Promise<T> {
    for (;;) {
      const url = await this.#servers[Math.floor(Math.random() * this.#servers.length)]!.ready;
      const answer = await rpc(url, method, params).catch(() => undefined);
      const { result } = ((await answer?.json()) ?? {}) as { readonly result?: T };
      if (result !== undefined) return result;
      await sleep(50);
    }
  }

  async work(seed: number): Promise<string> {
    const message = {
      messageId: randomUUID(),
      role: "ROLE_USER",
      parts: [{ text: `${seed} ${STEPS}` }],
    };
    const configuration = { returnImmediately: true };
    const sent = await this.call<{ task: WorkedTask }>("SendMessage", { message, configuration });
    return sent.task.id;
  }

  async ended(id: string): Promise<WorkedTask> {
    for (;;) {
      const task = await this.call<WorkedTask>("GetTask", { id });
      if (/COMPLETED|FAILED|CANCELED|REJECTED/.test(task.status.state)) return task;
      await sleep(100);
    }
  }

  facts(): readonly Fact[] {
    const lines = readFileSync(this.#records, "utf8").trim().split("\n");
    return lines.map((line) => JSON.parse(line) as Fact);
  }
}

/** Keeps every core busy until the test has finished. */
function loadMachine(): void {
  for (let core = 0; core < availableParallelism(); core++) {
    const busy = spawn(process.execPath, ["-e", "for (;;);"]);
    onTestFinished(() => void busy.kill("SIGKILL"));
  }
}

/** What went wrong: nothing, if no step was cut but those that took longer than the drain. */
function problems(facts: readonly Fact[], tasks: readonly WorkedTask[], drainMs: number): string[] {
  const found: string[] = [];
  const stops = new Map<number, number>();
  const begun = new Map<string, Fact>();
  const ended = new Map<string, Fact>();
  for (const fact of facts) {
    const step = `step ${fact.n} of ${fact.task}`;
    if (fact.kind === "stop") stops.set(fact.pid, fact.at);
    if (fact.kind === "caught") found.push(`the stop was an exception in ${fact.task}`);
    if (fact.kind === "end") ended.set(step, fact);
    if (fact.kind !== "begin") continue;
    if (begun.has(step)) found.push(`${step} ran twice`);
    if (stops.has(fact.pid)) found.push(`${step} began after the stop`);
    begun.set(step, fact);
  }
  for (const { id, status, artifacts = [] } of tasks) {
    if (status.state !== "TASK_STATE_COMPLETED") found.push(`${id} is ${status.state}`);
    const left = facts.filter(({ kind, task }) => kind === "finally" && task === id);
    if (left.length !== 1) found.push(`${id} was left ${left.length} times`);
    const cut = new Set(artifacts.flatMap(({ parts }) => (parts[0]?.text ?? "").split(" ")));
    for (let n = 1; n <= STEPS; n++) {
      const step = `step ${n} of ${id}`;
      const [begin, end] = [begun.get(step), ended.get(step)];
      if (begin === undefined) found.push(`${step} never ran`);
      else if (!cut.has(String(n)) && end === undefined) found.push(`${step} never ended`);
      else if (cut.has(String(n))) {
        const after = (end?.at ?? Number.POSITIVE_INFINITY) - (stops.get(begin.pid) ?? 0);
        // Whether the drain is over is looked at every 10 ms.
        if (after < drainMs - 20) found.push(`${step} was cut, and took ${after} ms of the drain`);
      }
    }
  }
  return found;
}

interface World {
  readonly servers: number;
  readonly drainMs: number;
  readonly isLoaded: boolean;
  readonly env: Readonly<Record<string, string>>;
}

async function stopAgainAndAgain({ servers, drainMs, isLoaded, env }: World): Promise<void> {
  if (isLoaded) loadMachine();
  const stopped = new Stopped(servers, { ...env, CONVOKE_DRAIN_MS: String(drainMs) });
  const ids = await Promise.all(Array.from({ length: TASKS }, (_, seed) => stopped.work(seed)));
  const pauseMs = (STEPS * 150) / (STOPS + 1);
  for (let stop = 0; stop < STOPS; stop++) {
    await sleep(pauseMs);
    await stopped.stopOne();
  }
  const tasks = await Promise.all(ids.map((id) => stopped.ended(id)));

  const facts = stopped.facts();
  const cut = tasks.flatMap(({ artifacts }) => artifacts?.[0]?.parts[0]?.text?.match(/\d+/g) ?? []);
  const longest = Math.round(Math.max(...stopped.stopsMs));
  process.stdout.write(
    `${servers} servers, drain ${drainMs} ms${isLoaded ? ", loaded" : ""}: ${TASKS} tasks, ${STOPS} stops of at most ${longest} ms, ${cut.length} steps cut\n`,
  );
  expect(problems(facts, tasks, drainMs)).toEqual([]);
  // It takes as long as the longest step, 300 ms, and not as long as the tasks or the drain.
  if (drainMs === 10_000 && !isLoaded) expect(longest).toBeLessThan(8000);
}

describe.each(LOADS)("a stop of servers that work, on a loaded machine: %s", (isLoaded) => {
  for (const drainMs of DRAINS) {
    verifies(
      "G3",
      `cuts no step of one server that is shorter than its drain of ${drainMs} ms, and begins none`,
      () => {
        const env = { CONVOKE_DATA: temporaryFolder() };
        return stopAgainAndAgain({ servers: 1, drainMs, isLoaded, env });
      },
      WITHIN_MS,
    );
  }
});

describe.each(LOADS)("a stop of one of three servers, on a loaded machine: %s", (isLoaded) => {
  const databaseUrl = needsPostgres();
  for (const drainMs of DRAINS) {
    verifies(
      "G3",
      `cuts no step that is shorter than its drain of ${drainMs} ms, and begins none`,
      async () => {
        const env = { DATABASE_URL: await databaseUrl() };
        await stopAgainAndAgain({ servers: 3, drainMs, isLoaded, env });
      },
      WITHIN_MS,
    );
  }
});
