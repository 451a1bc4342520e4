import { type Contender, type Field, both, bothVersions, closeField } from "../contenders.ts";
import { type Figure, finishes, interleave } from "../rounds.ts";
import { type Row, ratioRow } from "../table.ts";
import { Target } from "../target.ts";
import type { Job } from "../targets/client-job.ts";

interface Options {
  /** How many messages, and how many streams of each kind, make a sample. */
  readonly sends: number;
  readonly streams: number;
  readonly rounds: number;
  /** Until everything is compiled. */
  readonly warmUps: number;
  readonly limits: { readonly send: number; readonly event: number };
}

export type Work = Omit<Job, "version">;

const CHUNKS = 1000;

/**
 * CPU of the client, not of the server: all clients call our server, which keeps its tasks in
 * memory.
 */
export async function client({ memory }: Field, options: Options): Promise<readonly Row[]> {
  const server = memory["1.0"].target;
  const { sends, streams, limits } = options;
  const clients = await startClients(server.url);
  const row = async (work: string, job: Work, limit: number, each: number): Promise<Row> => {
    const samples = await sample(clients, job, options, each);
    return ratioRow(clients, samples, { work, unit: " µs", limit });
  };
  // Clients would have to wake a sleeping server, and slow clients more often.
  await server.ask("stay awake");
  try {
    const say = { kind: "send", order: { manner: "burst", count: 1 }, atOnce: 32 } as const;
    const burst = { kind: "stream", order: { manner: "burst", count: CHUNKS }, atOnce: 1 } as const;
    const turns = { ...burst, order: { ...burst.order, manner: "turns" }, atOnce: 16 } as const;
    const most = Math.ceil(streams / turns.atOnce) * turns.atOnce;
    return [
      await row(
        `client: blocking send, ${say.atOnce} in flight`,
        { ...say, total: sends },
        limits.send,
        sends,
      ),
      await row(
        `client: each event of a burst of ${CHUNKS} chunks`,
        { ...burst, total: streams },
        limits.event,
        streams * CHUNKS,
      ),
      await row(
        `… one per turn of the event loop, ${turns.atOnce} streams`,
        { ...turns, total: most },
        limits.event,
        most * CHUNKS,
      ),
    ];
  } finally {
    await server.ask("rest");
    await closeField(clients);
  }
}

async function startClients(url: string): Promise<Field> {
  const start = async (name: string): Promise<ReturnType<typeof bothVersions>> =>
    bothVersions(await Target.start(`client-${name}.ts`, { BENCH_AGENT: url }));
  const ours = await start("convoke");
  return {
    bare: await start("bare"),
    ours,
    // Clients store nothing, so there is only one variant of ours.
    memory: ours,
    sdkV1: (await start("sdk-v1"))["1.0"],
    sdkV03: (await start("sdk-v03"))["0.3"],
  };
}

async function sample(
  { bare, ours, sdkV1, sdkV03 }: Field,
  work: Work,
  { rounds, warmUps }: Options,
  each: number,
): Promise<ReadonlyMap<Contender, readonly Figure[]>> {
  const everyone = [...both(bare), ...both(ours), sdkV1, sdkV03];
  await interleave(everyone, warmUps, (contender) => cpuOf(contender, work));
  return interleave(everyone, rounds, async (contender) => ({
    value: (await cpuOf(contender, work)) / each,
    cutOff: false,
  }));
}

/**
 * Microseconds of CPU of the client's process. This process only waits: a third busy process would
 * disturb them.
 */
export async function cpuOf(contender: Contender, work: Work): Promise<number> {
  const { target, version } = contender;
  const before = await target.cpu();
  let problem = "it took too long";
  await finishes(
    contender,
    target.ask<string>({ ...work, version }).then((said) => (problem = said)),
  );
  if (problem !== "") throw new Error(`a client of ${version} failed: ${problem}`);
  return (await target.cpu()) - before;
}
