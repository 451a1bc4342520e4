import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { checkStream, checkTask } from "./check.ts";
import { type Answer, inFlight, send, sendRest, stream } from "./client.ts";
import { type Contender, bothVersions } from "./contenders.ts";
import { GrpcClient } from "./grpc-client.ts";
import { type Work, cpuOf } from "./measures/client.ts";
import { PROGRAM, end, startConvoke } from "./measures/start.ts";
import { tokenSession } from "./measures/token-streams.ts";
import { costOf, interleave, median, percentile } from "./rounds.ts";
import { short } from "./table.ts";
import { Target } from "./target.ts";
import type { Order } from "./targets/order.ts";

/**
 * Compares this code with an earlier commit, or with another checkout that has its packages installed:
 *
 *     npm run bench:compare -- HEAD~5 [--rounds 21] [--only burst-1,start]
 *     npm run bench:compare -- ../before
 *
 * Three servers are measured in turn: this code, the same code once more, and the other checkout.
 * The first two say how far two runs of the same code differ; a change counts as slower only if it
 * differs by more than that. With nothing else on the machine, a change of 3 % shows in 9 rounds.
 */
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string", default: "9" }, only: { type: "string" } },
});
const [other] = positionals;
if (other === undefined) throw new Error("name a commit, or the folder of a checkout");
const checkout = existsSync(other) ? undefined : checkOut(other);
const before = checkout ?? resolve(other);
const rounds = Number(flags.rounds);

interface Rivals {
  readonly now: Contender;
  readonly twin: Contender;
  readonly before: Contender;
}

/** The CPU of one sample, in microseconds per operation. */
type Measure = (contender: Contender) => Promise<number>;

const data = mkdtempSync(join(process.cwd(), ".convoke-bench-"));

async function startRivals(start: (name: string, root?: string) => Promise<Target>): Promise<{
  readonly v03: Rivals;
  readonly v1: Rivals;
  readonly targets: readonly Target[];
}> {
  const now = await start("now");
  const twin = await start("twin");
  const old = await start("before", before);
  const as = (version: "0.3" | "1.0"): Rivals => ({
    now: bothVersions(now)[version],
    twin: bothVersions(twin)[version],
    before: bothVersions(old)[version],
  });
  return { v03: as("0.3"), v1: as("1.0"), targets: [now, twin, old] };
}

function sending(
  calls: number,
  call: (contender: Contender) => Promise<Answer>,
  atOnce = 32,
): Measure {
  return async (contender) => {
    let answers: Answer[] = [];
    const cost = await costOf(contender, async () => {
      answers = await inFlight(atOnce, calls, () => call(contender));
    });
    for (const answer of answers) checkTask(answer, 1);
    return cost.value / calls;
  };
}

function streaming(order: Order, atOnce: number, count: number): Measure {
  return async (contender) => {
    let answers: Answer[] = [];
    const cost = await costOf(contender, async () => {
      answers = await inFlight(atOnce, count, () => stream(contender, order));
    });
    for (const answer of answers) checkStream(answer, order);
    return cost.value / count;
  };
}

const grpcClients = new Map<string, GrpcClient>();
function grpc({ target }: Contender): GrpcClient {
  const client = grpcClients.get(target.url) ?? new GrpcClient(target.url);
  grpcClients.set(target.url, client);
  return client;
}

function grpcCalls(count: number, call: (client: GrpcClient) => Promise<unknown>): Measure {
  return async (contender) => {
    const cost = await costOf(contender, () => inFlight(32, count, () => call(grpc(contender))));
    return cost.value / count;
  };
}

/** CPU of the client: all of them call the same server, which never sleeps meanwhile. */
function calling(work: Work, operations: number): Measure {
  return async (contender) => {
    const server = memory.v1.now.target;
    await server.ask("stay awake");
    const cpu = await cpuOf(contender, work);
    await server.ask("rest");
    return cpu / operations;
  };
}

/** A sample of token streams has as many events as a thousand sends, and takes seconds. */
const TOKEN_WARM_UPS = 2;

async function tokens(contender: Contender): Promise<number> {
  const { perEvent } = await tokenSession(contender, { atOnce: 100, windowMs: 1000 });
  return perEvent.value;
}

/** V8 has compiled and optimized a server after about 12 000 sends: 12 rounds of 1000. */
const WARM_UP_ROUNDS = 12;

/** One line: the median over the rounds of this code's cost relative to the other's. */
async function compare(
  work: string,
  rivals: Rivals,
  measure: Measure,
  warmUpRounds = WARM_UP_ROUNDS,
): Promise<void> {
  const contenders = [rivals.now, rivals.twin, rivals.before];
  await interleave(contenders, warmUpRounds, measure);
  const samples = await interleave(contenders, rounds, measure);
  print(work, samples.get(rivals.now)!, samples.get(rivals.twin)!, samples.get(rivals.before)!);
}

function print(
  work: string,
  now: readonly number[],
  twin: readonly number[],
  old: readonly number[],
): void {
  const both = now.map((value, round) => (value + twin[round]!) / 2);
  const change = median(both.map((value, round) => value / old[round]!));
  const same = now.map((value, round) => value / twin[round]!);
  const spread = errorOfMedian(same);
  const isSlower = change > 1.03 && change - 1 > 2 * spread;
  const cells = [
    work.padEnd(62),
    `${short(median(both))} µs`.padEnd(12),
    `${short(median(old))} µs`.padEnd(12),
    change.toFixed(3).padEnd(7),
    `± ${(100 * spread).toFixed(1)} %`.padEnd(9),
    isSlower ? "SLOWER" : "ok",
  ];
  console.log(`| ${cells.join(" | ")} |`);
}

/** How far the median of these values is likely to be from that of very many. */
function errorOfMedian(values: readonly number[]): number {
  const quartiles = percentile(values, 75) - percentile(values, 25);
  // For values with a normal distribution, whose quartiles are 1.35 standard deviations apart.
  return (1.25 * (quartiles / 1.35)) / Math.sqrt(values.length);
}

function compareClients(
  version: string,
  rivals: Rivals,
  order: Order,
  atOnce: number,
): Promise<void> {
  const work = { kind: "stream", order, atOnce, total: 16 } as const;
  const name = `client: an event of 1000 chunks, ${order.manner}, ${version}`;
  return compare(name, rivals, calling(work, work.total * order.count));
}

/** V8 has compiled a server for short streams after about 6000 of them. */
function compareShort(work: string, rivals: Rivals, order: Order): Promise<void> {
  return compare(work, rivals, streaming(order, 1, 100), 5 * WARM_UP_ROUNDS);
}

async function compareStart(): Promise<void> {
  const time = async (root = join(import.meta.dirname, "..")): Promise<number> => {
    const folder = mkdtempSync(join(data, "start-"));
    const program = join(root, PROGRAM);
    const { seconds, process } = await startConvoke(["--data", folder], program);
    await end(process);
    return seconds * 1e6;
  };
  await time();
  await time(before);
  const samples: number[][] = [[], [], []];
  for (let round = 0; round < rounds; round++) {
    samples[0]!.push(await time());
    samples[1]!.push(await time());
    samples[2]!.push(await time(before));
  }
  print(
    "start of the convoke process to its first card (wall)",
    samples[0]!,
    samples[1]!,
    samples[2]!,
  );
}

const BURST = { manner: "burst", count: 1000 } as const;
const LONG = { manner: "burst", count: 10_000 } as const;
const TURNS = { manner: "turns", count: 1000 } as const;
const SHORT = { manner: "burst", count: 10 } as const;
const LESS_SHORT = { manner: "burst", count: 100 } as const;
const ONE = { manner: "burst", count: 1 } as const;

const stored = await startRivals((name, root) =>
  Target.start("convoke.ts", { BENCH_DATA: join(data, name) }, root),
);
const memory = await startRivals((_, root) => Target.start("convoke.ts", {}, root));
const clients = await startRivals((_, root) =>
  Target.start("client-convoke.ts", { BENCH_AGENT: memory.v1.now.target.url }, root),
);
const LINES: Readonly<Record<string, () => Promise<void>>> = {
  "send-03": () =>
    compare(
      "blocking send, 32 in flight, 0.3",
      stored.v03,
      sending(1000, (one) => send(one, ONE)),
    ),
  "send-1": () =>
    compare(
      "blocking send, 32 in flight, 1.0",
      stored.v1,
      sending(1000, (one) => send(one, ONE)),
    ),
  "send-memory": () =>
    compare(
      "… memory backend, 1.0",
      memory.v1,
      sending(1000, (one) => send(one, ONE)),
    ),
  "send-128": () =>
    compare(
      "blocking send, 128 in flight, 1.0",
      stored.v1,
      sending(1000, (one) => send(one, ONE), 128),
    ),
  "send-alone": () =>
    compare(
      "blocking send, one at a time, 1.0",
      stored.v1,
      sending(300, (one) => send(one, ONE), 1),
    ),
  "send-alone-memory": () =>
    compare(
      "… memory backend",
      memory.v1,
      sending(300, (one) => send(one, ONE), 1),
    ),
  "send-rest": () =>
    compare(
      "blocking send by REST, 1.0",
      stored.v1,
      sending(600, (one) => sendRest(one, ONE)),
    ),
  "send-grpc": () =>
    compare(
      "blocking send by gRPC, 1.0",
      stored.v1,
      grpcCalls(600, (one) => one.send(ONE)),
    ),
  "burst-03": () => compare("burst of 1000 chunks, 0.3", stored.v03, streaming(BURST, 1, 16)),
  "burst-1": () => compare("burst of 1000 chunks, 1.0", stored.v1, streaming(BURST, 1, 16)),
  "burst-grpc": () =>
    compare(
      "gRPC stream of 1000 chunks, 1.0",
      stored.v1,
      grpcCalls(32, (one) => one.stream(BURST)),
    ),
  turns: () =>
    compare("1000 chunks, one per turn, 16 streams, 1.0", stored.v1, streaming(TURNS, 16, 16)),
  "turns-alone": () => compare("… one stream", stored.v1, streaming(TURNS, 1, 4)),
  "turns-memory": () => compare("… one stream, memory backend", memory.v1, streaming(TURNS, 1, 4)),
  "short-10": () => compareShort("10 chunks in a burst, one at a time, 1.0", stored.v1, SHORT),
  "short-10-memory": () => compareShort("… memory backend", memory.v1, SHORT),
  "short-100": () =>
    compareShort("100 chunks in a burst, one at a time, 1.0", stored.v1, LESS_SHORT),
  tokens: () =>
    compare("100 streams at 50 tokens/s, per event, 1.0", stored.v1, tokens, TOKEN_WARM_UPS),
  long: () => compare("10 000-chunk answer, 0.3", stored.v03, streaming(LONG, 1, 4)),
  "client-send": () =>
    compare(
      "client: blocking send, 32 in flight, 1.0",
      clients.v1,
      calling({ kind: "send", order: ONE, atOnce: 32, total: 1000 }, 1000),
    ),
  "client-burst-03": () => compareClients("0.3", clients.v03, BURST, 1),
  "client-burst-1": () => compareClients("1.0", clients.v1, BURST, 1),
  "client-turns": () => compareClients("1.0", clients.v1, TURNS, 16),
  start: compareStart,
};

try {
  console.log(`Node ${process.versions.node}; CPU of all threads, medians of ${rounds} rounds\n`);
  const head = ["work".padEnd(62), "this code   ", "other       ", "ratio  ", "same code", ""];
  console.log(`| ${head.join(" | ")} |`);
  console.log(`| ${head.map((cell) => "-".repeat(Math.max(3, cell.length))).join(" | ")} |`);
  for (const name of flags.only?.split(",") ?? Object.keys(LINES)) {
    const line = LINES[name];
    if (line === undefined)
      throw new Error(`there is no line "${name}": ${Object.keys(LINES).join(", ")}`);
    await line();
  }
} finally {
  for (const client of grpcClients.values()) client.close();
  await Promise.all(
    [...clients.targets, ...stored.targets, ...memory.targets].map((target) => target.close()),
  );
  rmSync(data, { recursive: true, force: true });
  if (checkout !== undefined) git("worktree", "remove", "--force", checkout);
}

/** Checks a commit out into a folder of its own, with the packages that are installed here. */
function checkOut(commit: string): string {
  const folder = join(mkdtempSync(join(tmpdir(), "convoke-compare-")), "before");
  git("worktree", "add", "--detach", folder, commit);
  const root = join(import.meta.dirname, "..");
  cpSync(join(root, "node_modules"), join(folder, "node_modules"), {
    recursive: true,
    verbatimSymlinks: true,
  });
  return folder;
}

function git(...args: readonly string[]): void {
  execFileSync("git", args, { cwd: import.meta.dirname, stdio: ["ignore", "ignore", "inherit"] });
}
