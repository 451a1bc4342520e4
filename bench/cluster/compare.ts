// What a client sees when one of three replicas is killed, with Convoke and with the official SDK:
//
//     DATABASE_URL=postgres://… npm run compare:cluster
//
// It prints the table of docs/comparison-cluster.md. The user must be allowed to create databases:
// each of the two has its own on that server, which is dropped before and afterwards.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Cluster } from "./cluster.ts";
import { CHUNKS, CONVOKE, type Contender, type Received, SDK } from "./contenders.ts";

/** The client has this many chunks when something happens. */
const BEFORE = 10;
/** How long after that the task is read: several times what a takeover needs. */
const AFTER_MS = 20_000;

const { DATABASE_URL: database } = process.env;
if (database === undefined) throw new Error("set DATABASE_URL to a user who may create databases");

const columns = [];
for (const contender of [CONVOKE, SDK]) columns.push(await columnOf(contender, database));
const [ours = {}, theirs = {}] = columns;
console.log(`|  | ${CONVOKE.name} | ${SDK.name} |\n| --- | --- | --- |`);
for (const row of Object.keys(ours)) console.log(`| ${row} | ${ours[row]} | ${theirs[row]} |`);

async function columnOf(contender: Contender, url: string): Promise<Record<string, string>> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  const drop = `DROP DATABASE IF EXISTS ${contender.database} WITH (FORCE)`;
  await admin.query(drop);
  await admin.query(`CREATE DATABASE ${contender.database}`);
  const own = Object.assign(new URL(url), { pathname: contender.database }).href;
  const cluster = new Cluster();
  try {
    await contender.prepare(own);
    await cluster.start(contender, own);
    const subscribed = await subscribeElsewhere(contender, cluster);
    const canceled = await cancelElsewhere(contender, cluster);
    const killed = await killOne(contender, cluster);
    return { ...killed, ...subscribed, ...canceled };
  } finally {
    await cluster.close();
    await admin.query(drop);
    await admin.end();
  }
}

/** Kills the replica that streams, and lets the client do what it can at the others. */
async function killOne(contender: Contender, cluster: Cluster): Promise<Record<string, string>> {
  const [first, second] = [cluster.replica(0), cluster.replica(1)];
  const received = nothing();
  const following = contender.follow(cluster.route(first), received);
  await until(() => received.chunks.length >= BEFORE);
  cluster.route(second);
  await first.program.kill("SIGKILL");
  const killedAt = Date.now();
  const had = received.chunks.length;
  await following;
  const took = Date.now() - killedAt;
  await sleep(AFTER_MS - took);
  const task = await call(second.url, "GetTask", { id: received.taskId });
  const distinct = new Set([...received.chunks, ...received.snapshot]);
  const isWhole = distinct.size === CHUNKS;
  return {
    "Chunks that the client has when its replica is killed": `${had} of ${CHUNKS}`,
    "How the client goes on": received.recovery,
    "Chunks that it has in the end": `${distinct.size} of ${CHUNKS}`,
    "Chunks that it received twice": String(received.chunks.length - new Set(received.chunks).size),
    "Time from the kill to the last chunk": isWhole
      ? `${(took / 1000).toFixed(1)} s`
      : "not while it was followed",
    [`The task ${AFTER_MS / 1000} s later, at another replica`]: describe(task),
  };
}

/** A second client follows the task at a replica that does not work on it. */
async function subscribeElsewhere(
  contender: Contender,
  cluster: Cluster,
): Promise<Record<string, string>> {
  const [first, second] = [cluster.replica(0), cluster.replica(1)];
  const begun = nothing();
  const following = contender.follow(cluster.route(first), begun);
  await until(() => begun.chunks.length >= BEFORE);
  const received = nothing();
  await contender.subscribe(cluster.route(second), begun.taskId!, received);
  await following;
  const live = new Set(received.chunks).size;
  return {
    "A client that subscribes at another replica receives": `the task with ${received.snapshot.size} chunks, then ${live} as they are made`,
  };
}

/** Cancels a task at a replica that does not work on it. */
async function cancelElsewhere(
  contender: Contender,
  cluster: Cluster,
): Promise<Record<string, string>> {
  const [first, second] = [cluster.replica(0), cluster.replica(1)];
  const received = nothing();
  const following = contender.follow(cluster.route(first), received);
  await until(() => received.chunks.length >= BEFORE);
  const id = received.taskId!;
  const answer = await call(second.url, "CancelTask", { id });
  // Only this task is being worked on; its agent prints what it does.
  const made = (): number => first.program.stdout.split("chunk\n").length;
  const before = made();
  await sleep(AFTER_MS / 2);
  const reached = first.program.stdout.includes("canceled\n");
  const task = await call(second.url, "GetTask", { id });
  await following;
  return {
    "A cancel at another replica is answered with": describe(answer).split(",")[0]!,
    "… and reaches the agent": reached ? "yes" : "no",
    "… which then still makes": `${made() - before} chunks`,
    [`… and the task ${AFTER_MS / 2000} s later`]: describe(task),
  };
}

function nothing(): Received {
  return { chunks: [], snapshot: new Set(), recovery: "" };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(5);
}

/** The result or the error of a request of A2A 1.0. */
async function call(url: string, method: string, params: object): Promise<object> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const { result, error } = (await response.json()) as { result?: object; error?: object };
  return result ?? error ?? {};
}

/** The state of a task and the number of its chunks, or the error. */
function describe(task: object): string {
  if ("code" in task) return `error ${String(task.code)}`;
  const text = JSON.stringify(task);
  const state = /"state":"TASK_STATE_(\w+)"/.exec(text)?.[1] ?? "no state";
  const chunks = new Set([...text.matchAll(/(\d+) /g)].map(([, digits]) => digits));
  return `${state.toLowerCase()}, with ${chunks.size} chunks`;
}
