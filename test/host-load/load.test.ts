import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { isTerminal } from "@convoke/protocol";
import { expect, onTestFinished, test } from "vitest";
import { aMessage, aRequest } from "../conformance/requests.ts";
import type { Speaker } from "../conformance/speaker.ts";
import { speakersOf } from "../conformance/speakers.ts";
import { randomFrom } from "../harness/random.ts";
import { metricsOf } from "../operating/a-measured-server.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import type { Held } from "./load-server.ts";

// The short form; `npm run test:host` runs the full size.
const SECONDS = Number(process.env["CONVOKE_HOST_SECONDS"] ?? 2);
const SEED = Number(process.env["CONVOKE_HOST_SEED"] ?? Date.now() % 1_000_000);
const CLIENTS = 12;
const MB = 1024 * 1024;

/** How long everything may take to end after the load. */
const REST = { timeout: 60_000, interval: 100 };

const OWN = ["fn-0", "fn-1", "fn-2", "fn-3", "model-0", "model-1", "model-2"];
const PROGRAMS = ["program-0", "program-1", "program-2"];
/** What callers get if an agent is disabled. */
const REJECTIONS = /Service unavailable/;

const ALL = [...OWN, ...PROGRAMS];

test(
  `ten agents under load for ${SECONDS} s lose no task while agents are disabled and enabled`,
  async () => {
    const load = await Load.start();
    const changing = load.changeAgents();
    const clients = Array.from({ length: CLIENTS }, () => load.call());
    await sleep((SECONDS * 1000) / 3);
    const early = await load.held();
    await Promise.all([changing, ...clients]);
    expect(load.surprises).toEqual([]);
    for (const id of ALL) await load.change(id, "enable");

    await expect.poll(() => load.unfinished(), REST).toEqual([]);
    const tasks = await load.tasks();
    const failed = tasks.filter(({ status }) => status.state !== "completed");
    expect(failed.map(({ id, agentId }) => `${agentId} ${id}`)).toEqual([]);
    const stored = new Set(tasks.map(({ id }) => id));
    expect(load.accepted.filter((id) => !stored.has(id))).toEqual([]);
    const gauges = ["convoke_open_streams", "convoke_tasks_running", "convoke_tasks_unfinished"];
    await expect
      .poll(async () => {
        const metrics = await metricsOf(load.url);
        return gauges.map((name) => metrics.get(name) ?? 0);
      }, REST)
      .toEqual([0, 0, 0]);
    // The timer that is left watches the data folder.
    await expect
      .poll(() => load.held(), REST)
      .toEqual(expect.objectContaining({ children: 0, timers: 1 }));

    const late = await load.held();
    process.stdout.write(
      `Host, ${SECONDS} s, seed ${SEED}: ${stored.size} tasks, ${load.accepted.length} with an answer, ` +
        `${load.rejected} rejected, ${load.changes} changes; heap ${(early.heapBytes / MB).toFixed(0)} MB under load, ` +
        `${(late.heapBytes / MB).toFixed(0)} MB after\n`,
    );
    expect(load.accepted.length).toBeGreaterThan(0);
    expect(load.changes).toBeGreaterThan(0);
    expect(late.heapBytes).toBeLessThan(1.3 * early.heapBytes + 20 * MB);
  },
  200_000 + 2000 * SECONDS,
);

interface StoredTask {
  readonly id: string;
  readonly agentId: string;
  readonly status: { readonly state: Parameters<typeof isTerminal>[0] };
}

/** A server of ten agents, callers that use all of them, and an operator who changes them. */
class Load {
  readonly url: string;
  /** Tasks that callers have got an answer about. */
  readonly accepted: string[] = [];
  rejected = 0;
  /** Errors that callers should not get. */
  readonly surprises: string[] = [];
  changes = 0;
  readonly #child: ChildProcess;
  readonly #random = randomFrom(SEED);
  readonly #end = performance.now() + SECONDS * 1000;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  static async start(): Promise<Load> {
    const child = fork(new URL("load-server.ts", import.meta.url), [temporaryFolder()], {
      execArgv: ["--conditions=@convoke/source", "--expose-gc"],
    });
    onTestFinished(() => void (child.connected && child.disconnect()));
    const [{ url }] = (await once(child, "message")) as [{ url: string }];
    return new Load(child, url);
  }

  async held(): Promise<Held> {
    const answer = once(this.#child, "message");
    this.#child.send("held?");
    return ((await answer) as [Held])[0];
  }

  /** Calls random agents over random bindings until the time is over, and one of them has answered. */
  async call(): Promise<void> {
    while (performance.now() < this.#end || this.accepted.length === 0) {
      const speaker = this.#pick(this.#speakersTo(this.#pick(ALL)));
      try {
        await this.#pick([this.#send, this.#stream, this.#ask])(speaker);
      } catch (error) {
        const problem = String(error);
        if (!REJECTIONS.test(problem)) this.surprises.push(problem);
        this.rejected++;
        await sleep(5);
      }
    }
  }

  readonly #send = async (speaker: Speaker): Promise<void> => {
    this.accepted.push((await speaker.sendTask(aRequest("hello"))).id);
  };

  readonly #stream = async (speaker: Speaker): Promise<void> => {
    for await (const { event } of speaker.stream(aRequest("hello"))) {
      if (event.kind === "task") this.accepted.push(event.id);
    }
  };

  readonly #ask = async (speaker: Speaker): Promise<void> => {
    const { id: taskId, status } = await speaker.sendTask(aRequest("ask"));
    this.accepted.push(taskId);
    if (status.state !== "input-required") return;
    await speaker.sendTask(aRequest(aMessage("this one", { taskId })));
  };

  /** Disables and enables random agents until the time is over, at least one. */
  async changeAgents(): Promise<void> {
    while (performance.now() < this.#end || this.changes === 0) {
      await this.change(this.#pick(ALL), this.#pick(["disable", "enable"]));
      await sleep(20);
    }
  }

  async change(id: string, action: "disable" | "enable"): Promise<void> {
    const path = `convoke/agents/${id}:${action}`;
    const response = await fetch(this.url + path, { method: "POST" });
    await response.arrayBuffer();
    expect(response.status, path).toBe(200);
    this.changes++;
  }

  /** The tasks that have not ended. Those that wait for a caller that is gone are answered. */
  async unfinished(): Promise<readonly string[]> {
    const open = (await this.tasks()).filter(({ status }) => !isTerminal(status.state));
    for (const { id: taskId, agentId, status } of open) {
      if (status.state !== "input-required") continue;
      const [speaker] = this.#speakersTo(agentId);
      await speaker!.sendTask(aRequest(aMessage("the last", { taskId })));
    }
    return open.map(({ id, agentId, status }) => `${id} of ${agentId} is ${status.state}`);
  }

  /** All tasks that the server has stored. */
  async tasks(): Promise<readonly StoredTask[]> {
    const all: StoredTask[] = [];
    for (const id of ALL) {
      for (let pageToken: string | undefined = ""; pageToken !== undefined;) {
        const query = `pageSize=100${pageToken && `&pageToken=${encodeURIComponent(pageToken)}`}`;
        const response = await fetch(`${this.url}agents/${id}/convoke/tasks?${query}`);
        const page = (await response.json()) as { tasks: StoredTask[]; nextPageToken?: string };
        all.push(...page.tasks);
        pageToken = page.nextPageToken || undefined;
      }
    }
    return all;
  }

  #speakersTo(id: string): readonly Speaker[] {
    return speakersOf({ url: `${this.url}agents/${id}/` }, "1.0");
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)]!;
  }
}
