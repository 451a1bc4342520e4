import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryBackend } from "@convoke/engine/memory";
import { type Task, textOf } from "@convoke/protocol";
import type { Backend } from "@convoke/engine";
import { defineAgent, serve } from "convoke";
import { describe, expect, onTestFinished } from "vitest";
import { verifies } from "../verifies.ts";
import { aServer, call } from "./a-server.ts";
import { HttpReader } from "./an-http-reader.ts";
import { bytesHeld, megabytes } from "./memory.ts";
import { wrapBackend } from "./wrapped-backend.ts";

const EVENTS = 100_000;

/** Far more than the server may buffer, and less than what is not read. */
const MAX_GROWTH = 20e6;

/** A reader may cost 1 MB; garbage makes the figure imprecise. */
const MAX_COST = 5e6;

/** Emits the requested number of words, and counts them. */
function aTalker() {
  const counts = { said: 0 };
  const ended = new Set<string>();
  const agent = defineAgent({
    name: "Talker",
    description: "Says as many words as it is told to.",
    async *run({ text }) {
      const words = Number(text);
      for (let n = 0; n < words; n++, counts.said++) {
        yield `word ${n} `;
        if (n % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      ended.add(text);
    },
  });
  return { agent, counts, ended };
}

const words = (count: number): string =>
  Array.from({ length: count }, (_, n) => `word ${n} `).join("");

let messages = 0;
const say = (text: string): object => ({
  message: { messageId: `m${++messages}`, role: "user", parts: [{ kind: "text", text }] },
});

async function send(url: string, text: string): Promise<Task> {
  const { result, error } = await call(url, "message/send", say(text));
  if (error !== undefined) throw new Error(error.message);
  return result as Task;
}

async function get(url: string, id: string): Promise<Task> {
  return (await call(url, "tasks/get", { id })).result as Task;
}

/** The elapsed time in milliseconds. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function tell(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "convoke-readers-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe("a client that never reads", () => {
  verifies(
    "G8",
    "costs almost no memory, delays no other client, and gets everything once it reads",
    async () => {
      const { agent, ended } = aTalker();
      const data = await aFolder();
      const server = await serve(agent, { port: 0, data });
      onTestFinished(() => server.close());
      const { url } = server;
      const quick = await send(url, "5000");
      const before = await bytesHeld();

      const talk = say(String(EVENTS));
      const leaving = await HttpReader.open(url, "message/stream", talk);
      const staying = await HttpReader.open(url, "message/stream", talk);
      const waits: number[] = [];
      while (!ended.has(String(EVENTS))) {
        waits.push(await timed(() => get(url, quick.id)));
        waits.push(await timed(() => send(url, "1")));
      }
      // Everything has been emitted, and only the first pages were written to the sockets.
      await sleep(200);
      const held = await bytesHeld();
      leaving.hangUp();
      await sleep(200);
      const cost = held - (await bytesHeld());
      let events = 0;
      let bytes = 0;
      let text = "";
      await staying.read(({ data: frame }) => {
        events++;
        bytes += frame.length;
        const { result } = JSON.parse(frame) as { result: { artifact?: Task } };
        if (result.artifact !== undefined) text += partsText(result.artifact);
      });

      tell(
        `two clients that do not read ${megabytes(bytes)} in ${events} events: ` +
          `${megabytes(held - before)} more are held, ${megabytes(cost)} of it for one of them; ` +
          `${waits.length} other requests took at most ${Math.max(...waits).toFixed(0)} ms`,
      );
      expect(bytes).toBeGreaterThan(MAX_GROWTH);
      expect(held - before).toBeLessThan(MAX_GROWTH);
      expect(cost).toBeLessThan(MAX_COST);
      expect(waits.length).toBeGreaterThan(3);
      expect(text).toBe(words(EVENTS));
    },
    60_000,
  );
});

function partsText(artifact: unknown): string {
  const { parts } = artifact as { readonly parts: readonly { readonly text?: string }[] };
  return parts.map((part) => part.text ?? "").join("");
}

/** A backend that counts its watchers. */
function countingBackend(backend: Backend): Backend & { readonly watchers: number } {
  let watchers = 0;
  return {
    tasks: backend.tasks,
    pushes: backend.pushes,
    retention: backend.retention,
    commit: (step) => backend.commit(step),
    read: (taskId, after, limit) => backend.read(taskId, after, limit),
    close: () => backend.close(),
    watch: (taskId, wake) => {
      const stop = backend.watch(taskId, wake);
      let isWatching = true;
      watchers++;
      return () => {
        if (isWatching) watchers--;
        isWatching = false;
        stop();
      };
    },
    get watchers() {
      return watchers;
    },
  };
}

describe("five hundred clients that disconnect", () => {
  verifies("G8", "are released at once, and the remaining one gets everything", async () => {
    const gate = Promise.withResolvers<void>();
    const agent = defineAgent({
      name: "Waiter",
      description: "Waits, then talks.",
      async *run() {
        yield "before ";
        await gate.promise;
        for (let n = 0; n < 100; n++) yield `${n} `;
      },
    });
    const backend = countingBackend(createMemoryBackend());
    const { url } = await aServer(agent, backend);
    const staying = await HttpReader.open(url, "message/stream", say("go"));
    const { taskId } = (await backend.tasks.unfinished("", 1))[0]!;
    const leaving = await Promise.all(
      Array.from({ length: 500 }, () => HttpReader.open(url, "tasks/resubscribe", { id: taskId })),
    );
    await expect.poll(() => backend.watchers, { timeout: 20_000 }).toBe(501);

    const took = await timed(async () => {
      for (const reader of leaving) reader.hangUp();
      await expect.poll(() => backend.watchers, { timeout: 20_000 }).toBe(1);
    });
    gate.resolve();
    let frames = 0;
    await staying.read(() => frames++);

    tell(`500 clients that hung up were forgotten within ${took.toFixed(0)} ms`);
    expect(frames).toBe((await backend.tasks.get(taskId))!.head);
    expect(backend.watchers).toBe(0);
  });
});

describe("a disk that stalls for five seconds", () => {
  verifies(
    ["G1", "G8"],
    "stops the agent but not the server, and everything completes afterwards",
    async () => {
      const { agent, counts } = aTalker();
      const backend = wrapBackend(createMemoryBackend());
      const { url } = await aServer(agent, backend);
      const other = await send(url, "10");
      const reader = await HttpReader.open(url, "message/stream", say(String(EVENTS)));
      let frames = 0;
      const read = reader.read(() => frames++);
      await expect.poll(() => counts.said, { interval: 1, timeout: 20_000 }).toBeGreaterThan(1000);

      backend.hold();
      // In turns of the event loop, which a busy machine cannot skip like time.
      for (let turn = 0; turn < 20; turn++) await sleep(5);
      const saidBefore = counts.said;
      const heldBefore = await bytesHeld();
      const waiting = send(url, "20");
      const waits: number[] = [];
      const end = performance.now() + 5000;
      while (performance.now() < end || waits.length <= 20) {
        waits.push(await timed(() => get(url, other.id)));
        await sleep(100);
      }
      const growth = (await bytesHeld()) - heldBefore;
      const saidDuring = counts.said - saidBefore;
      const framesDuring = frames;
      backend.release();
      await read;
      const after = await waiting;

      tell(
        `a disk that stalls for 5 s: ${saidDuring} events were pulled meanwhile, ` +
          `${megabytes(growth)} more are held; ${waits.length} reads took at most ` +
          `${Math.max(...waits).toFixed(0)} ms`,
      );
      expect(saidBefore).toBeLessThan(EVENTS);
      expect(saidDuring).toBe(0);
      expect(growth).toBeLessThan(MAX_GROWTH);
      expect(waits.length).toBeGreaterThan(20);
      expect(framesDuring).toBeLessThan(frames);
      // The task, its work, each word, the end of the answer and the end of the task.
      expect(frames).toBe(EVENTS + 4);
      expect(textOf(after)).toBe(words(20));
    },
    60_000,
  );
});
