import { type RemoteAgent, connect } from "convoke";
import { cpSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { leaveOpen } from "../open-tasks.ts";
import { median } from "../rounds.ts";
import { type Row, short } from "../table.ts";
import { end, startConvoke } from "./start.ts";

interface Options {
  readonly tasks: number;
  readonly events: number;
  readonly rounds: number;
  readonly data: string;
  /** In seconds. */
  readonly limit: number;
}

/**
 * From the start of the process until the last of many tasks that a crash left open is failed or
 * queued to run again.
 */
export async function restart(options: Options): Promise<readonly Row[]> {
  const { tasks, events, rounds, data, limit } = options;
  const crashed = mkdtempSync(join(data, "crashed-"));
  const backend = await openSqliteBackend({ folder: crashed });
  await leaveOpen(backend, { ...options, agentId: "crashed" });
  await backend.close();
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
    name: "Crashed",
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
