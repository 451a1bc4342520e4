import { backupFolder, copyToDatabase, restoreFolder } from "@convoke/backends/transfer";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { type RemoteAgent, connect } from "@convoke/client";
import type { Agent, LocalAgent } from "@convoke/protocol";
import { type AgentServer, defineAgent, serve } from "convoke";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { contentOf } from "../../packages/backends/src/transfer/content-of.suite.ts";
import { needsPostgres } from "../harness/postgres.ts";

const address = needsPostgres();

const root = mkdtempSync(join(tmpdir(), "convoke-move-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let folders = 0;

function newFolder(): string {
  return join(root, `folder-${(folders += 1)}`);
}

/** A liveness bound for a slow machine. */
const WAIT = { timeout: 60_000, interval: 100 };

const LONG = { timeout: 180_000 };

const NAP_MS = 5000;

const steps: string[] = [];

/** Whether work that takes long can end. */
let isQuick = false;

/** Asks, sleeps, works for long, or repeats the message, by its text. Its sub-agent keeps its tasks beside. */
function mover(): Agent {
  const agent = defineAgent({
    name: "Mover",
    description: "Goes on wherever its tasks are.",
    restart: true,
    async *run({ text, ask, sleep, step, signal }) {
      if (text === "work" && !isQuick) await once(signal, "abort");
      if (text === "ask" || text === "nap") await step("begin", () => void steps.push(text));
      if (text === "ask") yield `You said ${await ask("Which city?")}.`;
      else if (text === "nap") {
        await sleep(NAP_MS);
        yield "Slept.";
      } else for (const word of text.split(" ")) yield `${word} `;
    },
  });
  const helper = defineAgent({
    name: "Helper",
    description: "Helps.",
    async *run() {
      yield "Helped.";
    },
  });
  let beside: Promise<LocalAgent> | undefined;
  return {
    ...agent,
    run: (turn) => agent.run(turn),
    prepare: (environment) => {
      agent.prepare?.(environment);
      beside = environment.runBeside?.("helper", helper);
    },
    [Symbol.asyncDispose]: async () => (await beside)?.[Symbol.asyncDispose](),
  };
}

async function serveAt(place: string): Promise<{ server: AgentServer; agent: RemoteAgent }> {
  const where = place.startsWith("postgres:") ? { database: place } : { data: place };
  const server = await serve(mover(), { port: 0, idempotency: "always", ...where });
  onTestFinished(() => server.close());
  return { server, agent: await connect(server.url) };
}

test(
  "a question, a sleeping and a running task go on in a database after a move",
  LONG,
  async () => {
    const [folder, url] = [newFolder(), await address()];
    const first = await serveAt(folder);
    const asked = (await first.agent.send("ask")).task!;
    const done = await first.agent.send("one two three", { messageId: "m1" });
    const nap = await begin(first.agent, "nap");
    const work = await begin(first.agent, "work");
    await vi.waitUntil(() => steps.includes("nap"), WAIT);
    await first.server.close({ drainMs: 0 });

    await copyToDatabase({ from: folder, to: url });
    await expect(serve(mover(), { port: 0, data: folder })).rejects.toThrow(
      /was moved to postgres:/,
    );
    isQuick = true;
    const { agent } = await serveAt(url);

    expect(existsSync(join(folder, "agents", "helper", "transfer.json"))).toBe(true);
    expect((await agent.send("Rome", { taskId: asked.id })).text).toBe("You said Rome.");
    const again = await agent.send("one two three", { messageId: "m1" });
    expect(again.task?.id).toBe(done.task!.id);
    const ended = async (id: string): Promise<boolean> =>
      (await agent.get(id)).status.state === "completed";
    await vi.waitUntil(async () => (await ended(nap)) && (await ended(work)), WAIT);
    // Nothing was done twice.
    expect(steps).toEqual(["ask", "nap"]);
  },
);

/** Resolves to the id of the task, which goes on. */
async function begin(agent: RemoteAgent, text: string): Promise<string> {
  const { value } = await agent.stream(text)[Symbol.asyncIterator]().next();
  return (value as { readonly id: string }).id;
}

test(
  "a backup under load has every task that was answered before, and the start of each log",
  LONG,
  async () => {
    const folder = newFolder();
    const { server, agent } = await serveAt(folder);
    const answered: string[] = [];
    let isLoaded = true;
    const load = async (): Promise<void> => {
      while (isLoaded) answered.push((await agent.send("a b c d e f")).task!.id);
    };
    const callers = [load(), load(), load()];
    await vi.waitUntil(() => answered.length >= 20, WAIT);
    const waiting = (await agent.send("ask")).task!.id;

    const before = [...answered, waiting];
    const [backup, restored] = [newFolder(), newFolder()];
    await backupFolder({ from: folder, to: backup });
    const after = answered.length;
    await vi.waitUntil(() => answered.length > after + 3, WAIT);
    isLoaded = false;
    await Promise.all(callers);
    await server.close();

    await restoreFolder({ from: backup, to: restored });
    const [kept, final] = [await logsIn(restored), await logsIn(folder)];
    expect(before.filter((id) => !kept.has(id))).toEqual([]);
    expect(kept.size).toBeLessThan(final.size);
    for (const [id, log] of kept) expect(final.get(id)?.slice(0, log.length)).toEqual(log);

    // What was under way goes on.
    const { agent: next } = await serveAt(restored);
    expect((await next.send("Rome", { taskId: waiting })).text).toBe("You said Rome.");
    const states = async (): Promise<readonly string[]> =>
      Promise.all([...kept.keys()].map(async (id) => (await next.get(id)).status.state));
    await vi.waitUntil(async () => (await states()).every((one) => one === "completed"), WAIT);
  },
);

/** The events of each task. */
async function logsIn(folder: string): Promise<ReadonlyMap<string, readonly object[]>> {
  const backend = await openSqliteBackend({ folder });
  const contents = await contentOf(backend);
  await backend.close();
  return new Map(contents.map(({ stored, log }) => [stored!.taskId, log]));
}
