import { type RemoteAgent, connect } from "convoke";
import { join } from "node:path";
import {
  type Approval,
  EXTENSIONS,
  type Task,
  applyEvent,
  isInterrupted,
  openApprovals,
  textOf,
} from "@convoke/protocol";
import { median } from "../rounds.ts";
import { type Row, short } from "../table.ts";
import { Target } from "../target.ts";

interface Options {
  /** The number of agents, each in its own process. */
  readonly agents: number;
  readonly rounds: number;
  readonly data: string;
  /** In milliseconds. */
  readonly limits: { readonly eachWay: number; readonly cancel: number };
}

const { uri } = EXTENSIONS.approvals;

/**
 * How long a question takes up a chain of agents, its answer down, and how long a cancel takes to
 * reach all of them.
 */
export async function tree({ agents, rounds, data, limits }: Options): Promise<readonly Row[]> {
  const targets: Target[] = [];
  const samples = { up: [] as number[], down: [] as number[], cancel: [] as number[] };
  try {
    for (let place = agents; place >= 1; place--) {
      const env = {
        BENCH_NAME: `agent-${place}`,
        BENCH_NEXT: targets[0]?.url ?? "",
        BENCH_DATA: join(data, `tree-${place}`),
      };
      targets.unshift(await Target.start("tree.ts", env));
    }
    const remotes = await Promise.all(
      targets.map(({ url }) => connect(url, { extensions: [uri] })),
    );
    for (let round = 0; round <= rounds; round++) {
      const answered = await answerOne(remotes[0]!);
      const cancel = await cancelOne(remotes);
      // The first round warms up.
      if (round === 0) continue;
      samples.up.push(answered.up);
      samples.down.push(answered.down);
      samples.cancel.push(cancel);
    }
  } finally {
    await Promise.all(targets.map((target) => target.close()));
  }
  const row = (work: string, times: readonly number[], limit: number): Row => ({
    work,
    ours: `${short(median(times))} ms`,
    ratio: `at most ${short(Math.max(...times))} ms`,
    budget: `${limit} ms`,
    isMet: median(times) <= limit,
  });
  return [
    row(
      `${agents} agents: the last one's call, to the approval at the first`,
      samples.up,
      limits.eachWay,
    ),
    row("… the answer at the first, to the call's run", samples.down, limits.eachWay),
    row(
      `… cancel at the first, until all ${agents} tasks are canceled`,
      samples.cancel,
      limits.cancel,
    ),
  ];
}

interface Asked {
  readonly task: Task;
  readonly approval: Approval;
  /** When the approval was requested. */
  readonly at: number;
}

/** Starts a task at the first agent, and reads until it asks. */
async function ask(root: RemoteAgent): Promise<Asked> {
  let task: Task | undefined;
  for await (const event of root.stream("go")) {
    if (event.kind === "message") continue;
    task = applyEvent(task, event);
    if (task !== undefined && isInterrupted(task.status.state)) break;
  }
  const at = Date.now();
  const [approval] = task === undefined ? [] : openApprovals(task, new Date(at));
  if (task === undefined || approval === undefined) throw new Error("nothing was asked for");
  return { task, approval, at };
}

async function answerOne(
  root: RemoteAgent,
): Promise<{ readonly up: number; readonly down: number }> {
  const { task, approval, at } = await ask(root);
  const up = at - Number(approval.tool.arguments["calledAt"]);
  const { id: approvalId, digest } = approval;
  const data = { approvalId, digest, option: "once" };
  const part = { kind: "data", data, metadata: { [uri]: { type: "approval-answer" } } } as const;
  const answeredAt = Date.now();
  const { id: taskId, contextId } = task;
  const { task: done } = await root.send([part], { taskId, contextId });
  const actedAt = /acted at (\d+)/.exec(done === undefined ? "" : textOf(done))?.[1];
  if (actedAt === undefined) throw new Error(`nothing was done: ${done?.status.state}`);
  return { up, down: Number(actedAt) - answeredAt };
}

/**
 * Cancels the task of the first agent while the last one waits, and waits until all of them are
 * canceled.
 */
async function cancelOne(remotes: readonly RemoteAgent[]): Promise<number> {
  const [root] = remotes;
  const { task, approval } = await ask(root!);
  const ids = [task.id, ...(approval.from ?? []).map(({ taskId }) => taskId)];
  if (ids.length !== remotes.length) throw new Error(`${ids.length} agents worked on it`);
  const watched = remotes.map((remote, place) => watch(remote, ids[place]!));
  await Promise.all(watched.map(({ begun }) => begun));
  const began = Date.now();
  await root!.cancel(task.id);
  await Promise.all(watched.map(({ canceled }) => canceled));
  return Date.now() - began;
}

/** Follows a task until it is canceled. */
function watch(
  remote: RemoteAgent,
  taskId: string,
): { readonly begun: Promise<void>; readonly canceled: Promise<void> } {
  const begun = Promise.withResolvers<void>();
  const read = async (): Promise<void> => {
    for await (const event of remote.subscribe(taskId)) {
      begun.resolve();
      if (event.kind !== "status-update" && event.kind !== "task") continue;
      if (event.status.state === "canceled") return;
    }
    throw new Error(`task ${taskId} was not canceled`);
  };
  const canceled = read();
  canceled.catch((error: unknown) => begun.reject(error));
  return { begun: begun.promise, canceled };
}
