import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import type { Task } from "@convoke/protocol";
import { describe, expect, onTestFinished, test } from "vitest";
import { ScriptProcess } from "../harness/script-process.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";

const TASKS = 32;
/** Characters of the message, and of the artifact, of each task: 64 MB in total. */
const TEXT = 1_000_000;
const PAGE_BYTES = 8 * 1024 * 1024;

interface Page {
  readonly tasks: readonly Task[];
  readonly nextPageToken: string;
  readonly totalSize: number;
}

type Parameters = Readonly<Record<string, number | boolean>>;

describe("a server whose stored tasks are larger than its heap", () => {
  test("lists every task exactly once, with every filter", async () => {
    const server = await startServer(await storeLargeTasks(), 64);
    const asked: readonly (readonly [Fetch, Parameters, bytes: number])[] = [
      [byRest, { historyLength: 0 }, 0],
      [byRest, { includeArtifacts: true }, 2 * TEXT],
      [byJsonRpc, { historyLength: 0, includeArtifacts: true }, TEXT],
      [byJsonRpc, {}, TEXT],
    ];

    for (const [fetchPage, parameters, bytes] of asked) {
      const seen = await walk(
        (token) => fetchPage(server.url, { pageSize: 100, ...parameters }, token),
        bytes,
      );

      expect(seen, JSON.stringify(parameters)).toEqual(wanted());
    }
    expect(server.process.end, server.process.stderr).toBeUndefined();
  }, 150_000);

  test("pushes all of them to receivers that hang at first", async () => {
    const receiver = await startReceiver();
    const server = await startServer(await storeLargeTasks(receiver.url), 80);
    await expect.poll(() => receiver.attempted.size, { timeout: 60_000 }).toBe(TASKS);

    receiver.accepts = true;

    await expect.poll(() => receiver.delivered.size, { timeout: 60_000 }).toBe(TASKS);
    expect(server.process.end, server.process.stderr).toBeUndefined();
  }, 150_000);
});

/** The ids of all tasks, newest first, following the page tokens. */
async function walk(
  fetchPage: (token: string) => Promise<Page>,
  bytes: number,
): Promise<readonly string[]> {
  const seen: string[] = [];
  for (let token = ""; ;) {
    const page = await fetchPage(token);
    expect(page.totalSize).toBe(TASKS);
    expect(page.tasks.length).toBeGreaterThan(0);
    expect(page.tasks.length * bytes).toBeLessThanOrEqual(PAGE_BYTES);
    seen.push(...page.tasks.map(({ id }) => id));
    token = page.nextPageToken;
    if (token === "") return seen;
  }
}

type Fetch = (url: string, parameters: Parameters, pageToken: string) => Promise<Page>;

async function byRest(url: string, parameters: Parameters, pageToken: string): Promise<Page> {
  const query = new URLSearchParams({ ...texts(parameters), ...(pageToken && { pageToken }) });
  const response = await fetch(`${url}/tasks?${query}`, { headers: { "a2a-version": "1.0" } });
  return (await response.json()) as Page;
}

async function byJsonRpc(url: string, parameters: Parameters, pageToken: string): Promise<Page> {
  const params = { ...parameters, ...(pageToken && { pageToken }) };
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params }),
  });
  return ((await response.json()) as { readonly result: Page }).result;
}

function texts(parameters: Parameters): Record<string, string> {
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, `${value}`]));
}

async function startServer(
  folder: string,
  heapMb: number,
): Promise<{ readonly url: string; readonly process: ScriptProcess }> {
  const process = new ScriptProcess(new URL("small-heap-server.ts", import.meta.url), {
    CONVOKE_DATA: folder,
    NODE_OPTIONS: `--max-old-space-size=${heapMb}`,
  });
  onTestFinished(async () => void (await process.kill()));
  return { url: (await process.ready).replace(/\/$/, ""), process };
}

/** Has a path for each task, and responds to none of them until it accepts. */
async function startReceiver() {
  const attempted = new Set<string>();
  const delivered = new Set<string>();
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      attempted.add(request.url!);
      if (!state.accepts) return;
      delivered.add(request.url!);
      response.writeHead(204).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const state = { url, attempted, delivered, accepts: false };
  return state;
}

/** Writes what old tasks leave in a store: a snapshot, and the end of a log. */
async function storeLargeTasks(pushTo?: string): Promise<string> {
  const folder = join(temporaryFolder(), "data");
  const backend = await openSqliteBackend({ folder, durability: "process" });
  for (let place = 0; place < TASKS; place++) {
    await backend.commit(aLargeStep(place, pushTo));
  }
  await backend.close();
  return folder;
}

function aLargeStep(place: number, pushTo: string | undefined) {
  const taskId = idOf(place);
  const statusAt = Date.now() - 60_000 + place;
  const status = { state: "completed", timestamp: new Date(statusAt).toISOString() } as const;
  const parts = [{ kind: "text", text: "x".repeat(TEXT) }] as const;
  const config = { id: "p", version: "0.3", url: `${pushTo}/${taskId}` };
  const end = { kind: "status-update", taskId, contextId: "c", status, final: true };
  const task: Task = { kind: "task", id: taskId, contextId: "c", status };
  const history = [{ kind: "message", role: "user", messageId: `m${place}`, parts }] as const;
  const artifacts = [{ artifactId: "a", parts }];
  return {
    taskId,
    create: { owner: OWNER, contextId: "c", agent: "Archivist", createdAt: statusAt },
    epoch: 1,
    events: [JSON.stringify(task), JSON.stringify(end)],
    state: "completed",
    statusAt,
    listed: true,
    snapshot: { seq: 1, json: JSON.stringify({ ...task, history, artifacts }) },
    ...(pushTo !== undefined && {
      push: { id: "p", config: JSON.stringify(config), cursor: 1 },
    }),
  } as const;
}

const OWNER = "anonymous";

function wanted(): readonly string[] {
  return Array.from({ length: TASKS }, (_, place) => idOf(place)).toReversed();
}

function idOf(place: number): string {
  return `t${String(place).padStart(3, "0")}`;
}
