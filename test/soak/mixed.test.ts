import { type Task, isTerminal, textOf } from "@convoke/protocol";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { Caller } from "../harness/caller.ts";
import { keptPort } from "../harness/kept-port.ts";
import { ScriptProcess } from "../harness/script-process.ts";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";
import { Webhook } from "../push/a-webhook.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import type { Facts } from "./mixed-server.ts";

// `npm run test:soak` runs it for two hours.
const MINUTES = Number(process.env["CONVOKE_SOAK_MINUTES"] ?? 1);
const AT_ONCE = 8;
/** The shortest time between two tasks of a user: what is measured must not depend on what else the machine does. */
const EVERY_MS = 100;
/** How often the server is ended and started again: by turns killed and stopped. */
const LIVES = Math.max(8, Math.round(MINUTES / 5));
const KINDS = ["stream", "approve", "delegate", "push"] as const;
const MB = 1024 * 1024;

/** How long the last tasks may take after the last start. */
const WITHIN_MS = 60_000;

/** What was measured before an end of the server. */
interface Sample extends Facts {
  readonly diskBytes: number;
  /** How long a message and its answer took, in the middle and for the slowest 5 %. */
  readonly p50Ms: number;
  readonly p95Ms: number;
}

test(
  `memory, disk, handles and latency stay flat over ${MINUTES} minutes of mixed load and ${LIVES} restarts`,
  async () => {
    const webhook = await Webhook.start();
    const server = await SoakedServer.start();
    const load = new Load(server, webhook);
    const users = Array.from({ length: AT_ONCE }, (_, user) => load.run(user));
    const samples: Sample[] = [];

    for (let life = 1; life <= LIVES; life++) {
      await sleep((MINUTES * 60_000) / LIVES);
      samples.push(await load.sample());
      if (life < LIVES) await server.replace(life % 2 === 0 ? "SIGTERM" : "SIGKILL");
    }
    load.isOver = true;
    await Promise.all(users);

    process.stdout.write(`${report(load, samples)}\n`);
    // The first lives fill the storage up to what retention keeps.
    const [early, late] = [samples.slice(1, 4), samples.slice(-3)];
    const most = (of: keyof Sample, some: readonly Sample[]): number =>
      Math.max(...some.map((sample) => sample[of]));
    expect(most("rssBytes", late)).toBeLessThan(1.3 * most("rssBytes", early) + 20 * MB);
    // The write-ahead log alone takes 1 to 10 MB, as the last checkpoint was.
    expect(most("diskBytes", late)).toBeLessThan(1.5 * most("diskBytes", early) + 15 * MB);
    expect(most("descriptors", late)).toBeLessThan(1.5 * most("descriptors", early) + 50);
    expect(most("handles", late)).toBeLessThan(1.5 * most("handles", early) + 50);
    expect(most("p50Ms", late)).toBeLessThan(5 * most("p50Ms", early) + 100);
    expect(server.complaints).toBe("");
    await expect.poll(() => load.unpushed, { timeout: WITHIN_MS }).toEqual([]);
  },
  MINUTES * 60_000 + 3 * WITHIN_MS,
);

/** A server that is ended again and again, and comes back at the same address with its data. */
class SoakedServer {
  readonly data = join(temporaryFolder(), "data");
  readonly #port: number;
  #process: ScriptProcess;
  #complaints = "";

  private constructor(port: number) {
    this.#port = port;
    this.#process = this.#start();
  }

  static async start(): Promise<SoakedServer> {
    const server = new SoakedServer(await keptPort());
    onTestFinished(async () => void (await server.#process.kill()));
    await server.url();
    return server;
  }

  url(): Promise<string> {
    return this.#process.ready;
  }

  /** Everything that its processes wrote to standard error. */
  get complaints(): string {
    return this.#complaints + this.#process.stderr;
  }

  async replace(signal: NodeJS.Signals): Promise<void> {
    const ended = this.#process;
    await ended.kill(signal);
    this.#complaints += ended.stderr;
    this.#process = this.#start();
  }

  #start(): ScriptProcess {
    return new ScriptProcess(new URL("./mixed-server.ts", import.meta.url), {
      CONVOKE_DATA: this.data,
      CONVOKE_PORT: String(this.#port),
    });
  }
}

/** Users that give the server one task after the other. */
class Load {
  isOver = false;
  readonly tasks = { stream: 0, approve: 0, delegate: 0, push: 0 };
  readonly #server: SoakedServer;
  readonly #webhook: Webhook;
  /** The tasks whose end is to be pushed. */
  readonly #pushed = new Set<string>();
  #messages = 0;
  #times: number[] = [];

  constructor(server: SoakedServer, webhook: Webhook) {
    this.#server = server;
    this.#webhook = webhook;
  }

  async run(user: number): Promise<void> {
    for (let turn = user; !this.isOver; turn++) {
      const next = performance.now() + EVERY_MS;
      const kind = KINDS[turn % KINDS.length]!;
      const task = kind === "push" ? await this.#watchByPush() : await this.#follow(kind);
      expect([kind, task.status.state]).toEqual([kind, "completed"]);
      this.tasks[kind]++;
      await sleep(Math.max(0, next - performance.now()));
    }
  }

  /** The tasks whose end was not pushed yet. */
  get unpushed(): readonly string[] {
    // Removed from memory: there are very many.
    for (const { body } of this.#webhook.arrivals.splice(0)) {
      const taskId = /"taskId":"([^"]+)"/.exec(body)?.[1] ?? "";
      if (/completed/i.test(body)) this.#pushed.delete(taskId);
    }
    return [...this.#pushed];
  }

  async sample(): Promise<Sample> {
    const began = performance.now();
    const { rssBytes, descriptors, handles } = JSON.parse(
      textOf(await this.#caller("facts").send()),
    ) as Facts;
    const times = [...this.#times, performance.now() - began].toSorted((one, other) => one - other);
    this.#times = [];
    const at = (share: number): number => times[Math.floor(share * (times.length - 1))]!;
    const diskBytes = sizeOf(this.#server.data);
    // A notification comes after the answer, and again after a restart.
    expect(this.unpushed.length).toBeLessThan(this.tasks.push / 2 + 10 * AT_ONCE);
    return { rssBytes, descriptors, handles, diskBytes, p50Ms: at(0.5), p95Ms: at(0.95) };
  }

  #caller(text: string): Caller {
    return new Caller(this.#server, `message-${++this.#messages}`, text);
  }

  async #follow(text: string): Promise<Task> {
    const caller = this.#caller(text);
    const began = performance.now();
    const state = await caller.follow();
    this.#times.push(performance.now() - began);
    return isTerminal(state) ? caller.task : this.#approve(caller, caller.task);
  }

  /** A task that waits for an approval and pushes what follows. */
  async #watchByPush(): Promise<Task> {
    const caller = this.#caller("approve");
    const task = await caller.send();
    this.#pushed.add(task.id);
    await caller.call("tasks/pushNotificationConfig/set", {
      taskId: task.id,
      pushNotificationConfig: { url: this.#webhook.url },
    });
    return this.#approve(caller, task);
  }

  #approve(caller: Caller, task: Task): Promise<Task> {
    const answers = openApprovals(task).map((approval) => answerTo(approval, { option: "once" }));
    return caller.answer(task.id, answers);
  }
}

function report({ tasks }: Load, samples: readonly Sample[]): string {
  const count = Object.entries(tasks).map(([kind, done]) => `${done} ${kind}`);
  const lines = samples.map(
    ({ rssBytes, diskBytes, descriptors, handles, p50Ms, p95Ms }) =>
      `  ${(rssBytes / MB).toFixed(0)} MB memory, ${(diskBytes / MB).toFixed(1)} MB disk, ${descriptors} descriptors, ${handles} handles, ${p50Ms.toFixed(0)} / ${p95Ms.toFixed(0)} ms`,
  );
  return `Soak of ${MINUTES} minutes: ${count.join(", ")}; before each end of the server:\n${lines.join("\n")}`;
}

function sizeOf(folder: string): number {
  // A file may be gone by the time it is looked at.
  const sizes = readdirSync(folder).map(
    (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0,
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
