import { type RemoteAgent, connect } from "convoke";
import { cpSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import type { Backend } from "@convoke/engine";
import { median } from "../rounds.ts";
import { type Row, short } from "../table.ts";
import { chunkText } from "../targets/order.ts";
import { end, startConvoke } from "./start.ts";

interface Options {
  readonly tasks: number;
  readonly events: number;
  readonly rounds: number;
  readonly data: string;
  /** In seconds. */
  readonly limit: number;
}

/** The number of commits in which the events of a task were written. */
const COMMITS = 10;

/**
 * From the start of the process until the last of many tasks that a crash left open is failed or
 * queued to run again.
 */
export async function restart(options: Options): Promise<readonly Row[]> {
  const { tasks, events, rounds, data, limit } = options;
  const crashed = mkdtempSync(join(data, "crashed-"));
  await leaveOpen(crashed, options);
  const failed: number[] = [];
  const queued: number[] = [];
  for (let round = 0; round < rounds; round++) {
    failed.push(await recover(options, crashed, { restart: false, state: "failed" }));
    queued.push(await recover(options, crashed, { restart: true, state: "completed" }));
  }
  const row = (work: string, times: readonly number[]): Row => ({
    work,
    ours: `${short(median(times))} s`,
    budget: `${limit} s`,
    isMet: median(times) <= limit,
    sdkV1: "never",
    sdkV03: "never",
  });
  const work = `restart with ${tasks} open tasks of ${events} events, to the last one`;
  return [row(`${work} failed`, failed), row("… re-queued", queued)];
}

interface Fate {
  readonly restart: boolean;
  /** The final state of its tasks: failed immediately, or completed by the queued runs. */
  readonly state: "failed" | "completed";
}

/** Starts `convoke` on a copy of the folder, and checks that every task was handled. */
async function recover({ tasks, data }: Options, crashed: string, fate: Fate): Promise<number> {
  const folder = mkdtempSync(join(data, "restart-"));
  cpSync(crashed, folder, { recursive: true });
  const agent = join(folder, "agent.mjs");
  writeFileSync(agent, agentSource(fate.restart));
  const { seconds, url, process } = await startConvoke([agent, "--data", folder]);
  try {
    await allBecome(fate.state, await connect(url), tasks);
    return seconds;
  } finally {
    await end(process);
  }
}

async function allBecome(state: Fate["state"], remote: RemoteAgent, tasks: number): Promise<void> {
  for (let found = 0; found < tasks; await sleep(20)) {
    const page = await remote.list({ state, pageSize: 1 });
    // Tasks that fail are failed before the first response.
    if (state === "failed" && page.totalSize < tasks)
      throw new Error(`${page.totalSize} of ${tasks} tasks failed`);
    found = page.totalSize;
  }
}

/** An agent without imports, so that its file can be anywhere. */
function agentSource(restart: boolean): string {
  const info = {
    name: AGENT,
    description: "Left its tasks open.",
    version: "1.0.0",
    skills: [],
    inputModes: ["text/plain"],
    outputModes: ["text/plain"],
    replies: false,
    keepStreamOnInterrupt: false,
    takesMessages: false,
    restart,
  };
  return `export default { info: ${JSON.stringify(info)}, async *run() {} };\n`;
}

const AGENT = "Crashed";

/** Fills a folder with tasks as a killed process leaves them. */
async function leaveOpen(folder: string, { tasks, events }: Options): Promise<void> {
  const backend = await openSqliteBackend({ folder });
  const statusAt = Date.now();
  const perCommit = Math.ceil(events / COMMITS);
  for (let first = 0; first < events; first += perCommit) {
    const last = Math.min(events, first + perCommit);
    const steps = Array.from({ length: tasks }, (_, task) =>
      appendTo(backend, { task, first, last, statusAt }),
    );
    await Promise.all(steps);
  }
  await backend.close();
}

interface Append {
  readonly task: number;
  /** The positions of the events in the log, starting at 0. */
  readonly first: number;
  readonly last: number;
  readonly statusAt: number;
}

function appendTo(backend: Backend, { task, first, last, statusAt }: Append): Promise<unknown> {
  const ids = {
    taskId: `01a1dd92-3a70-7000-8000-${task.toString(16).padStart(12, "0")}`,
    contextId: `01a1dd92-3a70-7000-9000-${task.toString(16).padStart(12, "0")}`,
  };
  const places = Array.from({ length: last - first }, (_, place) => first + place);
  const events = places.map((place) => JSON.stringify(eventAt(place, ids, statusAt)));
  return backend.commit({
    taskId: ids.taskId,
    epoch: 1,
    events,
    state: "working",
    statusAt,
    listed: true,
    ...(first === 0 && {
      create: {
        owner: "anonymous",
        contextId: ids.contextId,
        agent: AGENT,
        createdAt: statusAt,
      },
      message: { messageId: `m-${task}`, digest: "" },
    }),
  });
}

function eventAt(
  place: number,
  ids: { readonly taskId: string; readonly contextId: string },
  statusAt: number,
): object {
  const timestamp = new Date(statusAt).toISOString();
  if (place === 0) {
    const parts = [{ kind: "text", text: "begin" }];
    const message = { kind: "message", messageId: "m", role: "user", parts, ...ids };
    const status = { state: "submitted", timestamp };
    const { taskId: id, contextId } = ids;
    return { kind: "task", id, contextId, status, history: [message] };
  }
  if (place === 1) {
    const status = { state: "working", timestamp };
    return { kind: "status-update", ...ids, status, final: false };
  }
  const parts = [{ kind: "text", text: chunkText(place) }];
  const artifact = { artifactId: "answer-1", parts };
  return { kind: "artifact-update", ...ids, artifact, append: place > 2 };
}
