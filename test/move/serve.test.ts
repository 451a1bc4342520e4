import { backupStores, migrateStores, restoreStores } from "@convoke/backends/transfer";
import { type RemoteAgent, connect } from "@convoke/client";
import type { Agent, LocalAgent } from "@convoke/protocol";
import { type AgentServer, defineAgent, serve } from "convoke";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { recordsIn } from "../../packages/backends/src/transfer/records-in.suite.ts";
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
  "a question, a sleeping and a running task go on in a database after a move, and a second question back in a folder",
  LONG,
  async () => {
    const [folder, url, back] = [newFolder(), await address(), newFolder()];
    const first = await serveAt(folder);
    const asked = (await first.agent.send("ask")).task!;
    const later = (await first.agent.send("ask")).task!;
    const done = await first.agent.send("one two three", { messageId: "m1" });
    const nap = first.agent.stream("nap");
    const { value: napping } = await nap[Symbol.asyncIterator]().next();
    await vi.waitUntil(() => steps.includes("nap"), WAIT);
    await first.server.close({ drainMs: 0 });

    await migrateStores({ from: folder, to: url });
    await expect(serve(mover(), { port: 0, data: folder })).rejects.toThrow(
      /was moved to postgres:/,
    );
    const napId = (napping as { readonly id: string }).id;
    expect((await recordsIn(url))[""]).toContainEqual(
      expect.objectContaining({ kind: "task", taskId: napId, wakeAt: expect.any(Number) }),
    );
    const second = await serveAt(url);

    const answer = await second.agent.send("Rome", { taskId: asked.id });
    expect(answer.text).toBe("You said Rome.");
    const again = await second.agent.send("one two three", { messageId: "m1" });
    expect(again.task?.id).toBe(done.task!.id);
    await vi.waitUntil(
      async () => (await second.agent.get(napId)).status.state === "completed",
      WAIT,
    );
    await second.server.close({ drainMs: 0 });

    await migrateStores({ from: url, to: back });
    expect(existsSync(join(back, "agents", "helper", "tasks.db"))).toBe(true);
    const third = await serveAt(back);
    expect((await third.agent.send("Oslo", { taskId: later.id })).text).toBe("You said Oslo.");
    expect((await third.agent.get(napId!)).status.state).toBe("completed");
    // Nothing was done twice.
    expect(steps).toEqual(["ask", "ask", "nap"]);
  },
);

test.each(["a folder", "a database"])(
  "a backup of %s under load has every task that was answered before, and the start of each log",
  LONG,
  async (kind) => {
    const place = kind === "a folder" ? newFolder() : await address();
    const { server, agent } = await serveAt(place);
    const answered: string[] = [];
    let isLoaded = true;
    const load = async (): Promise<void> => {
      while (isLoaded) answered.push((await agent.send("a b c d e f")).task!.id);
    };
    const callers = [load(), load(), load()];
    await vi.waitUntil(() => answered.length >= 20, WAIT);
    const waiting = (await agent.send("ask")).task!.id;

    const before = [...answered, waiting];
    const file = join(root, `${kind}.backup`);
    await backupStores({ from: place, file });
    const after = answered.length;
    await vi.waitUntil(() => answered.length > after + 3, WAIT);
    isLoaded = false;
    await Promise.all(callers);
    await server.close();

    const restored = newFolder();
    await restoreStores({ file, to: restored });
    const [kept, final] = [logsIn(await recordsIn(restored)), logsIn(await recordsIn(place))];
    expect(before.filter((id) => !kept.has(id))).toEqual([]);
    expect(kept.size).toBeLessThan(final.size);
    for (const [id, log] of kept) expect(final.get(id)?.slice(0, log.length)).toBe(log);

    // What was under way goes on.
    const { agent: next } = await serveAt(restored);
    expect((await next.send("Rome", { taskId: waiting })).text).toBe("You said Rome.");
    const states = async (): Promise<readonly string[]> =>
      Promise.all([...kept.keys()].map(async (id) => (await next.get(id)).status.state));
    await vi.waitUntil(async () => (await states()).every((one) => one === "completed"), WAIT);
  },
);

/** The log of each task as one text. */
function logsIn(records: Awaited<ReturnType<typeof recordsIn>>): ReadonlyMap<string, string> {
  const logs = new Map<string, string>();
  for (const record of records[""] ?? []) {
    if (record.kind !== "segment") continue;
    logs.set(record.taskId, `${logs.get(record.taskId) ?? ""}${record.body}\n`);
  }
  return logs;
}
