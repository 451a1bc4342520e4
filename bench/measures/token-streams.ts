import { setTimeout as sleep } from "node:timers/promises";
import { type Opened, openStream, stream } from "../client.ts";
import { type Contender, type Field, both } from "../contenders.ts";
import {
  type Figure,
  type Samples,
  finishes,
  interleave,
  mapSamples,
  median,
  percentile,
  stayAwake,
} from "../rounds.ts";
import { type Row, pair, ratioRow, short } from "../table.ts";
import { type Order, TOKENS_PER_SECOND } from "../targets/order.ts";
import { diskTimes, syncTimes } from "./disk.ts";

interface Options {
  /** How many streams run at a time. */
  readonly atOnce: number;
  /** How long their CPU, and then that of new streams, is measured. */
  readonly windowMs: number;
  readonly rounds: number;
  /** Unmeasured sessions of each contender before the first round. */
  readonly warmUps: number;
  /** The folder on the disk that stores our tasks. */
  readonly data: string;
  readonly limits: { readonly cpu: number; readonly p50: number };
}

/** Streams start within this time, so that their tokens are not synchronized. */
const RAMP_MS = 400;

/** Time between two new streams. */
const PROBE_MS = 5;

interface Session {
  /** CPU for one event, in microseconds. */
  readonly perEvent: Figure;
  /** How long new streams waited for their first event, in milliseconds. */
  readonly firstEvents: readonly number[];
}

/** Many streams at the speed of a model: their cost, and how long a new stream among them waits. */
export async function tokenStreams(field: Field, options: Options): Promise<readonly Row[]> {
  const { atOnce, rounds, warmUps, data, limits } = options;
  const everyone = [...both(field.bare), ...both(field.ours), field.sdkV1, field.sdkV03];
  const syncs: number[] = [];
  await interleave(everyone, warmUps, (contender) => tokenSession(contender, options));
  const sessions = await interleave(everyone, rounds, (contender) => {
    syncs.push(...syncTimes(data, 100));
    return tokenSession(contender, options);
  });
  const load = `${atOnce} streams at ${TOKENS_PER_SECOND} tokens/s`;
  const disk = diskTimes(syncs);
  return [
    ratioRow(
      field,
      mapSamples(sessions, ({ perEvent }) => perEvent),
      {
        work: `${load}, CPU per event`,
        unit: " µs",
        limit: limits.cpu,
      },
    ),
    addedRow(field, sessions, {
      work: `added time to first event among ${load}, p50`,
      percent: 50,
      limit: limits.p50,
    }),
    addedRow(field, sessions, {
      work: `… p99 (fdatasync of this disk: p50 ${short(disk.p50)}, p99 ${short(disk.p99)} ms)`,
      percent: 99,
      limit: 2 * disk.p99 + 5,
    }),
  ];
}

interface AddedOptions {
  readonly work: string;
  readonly percent: number;
  readonly limit: number;
}

/** How much longer new streams wait than with bare `node:http`. */
function addedRow(field: Field, sessions: Samples<Session>, options: AddedOptions): Row {
  const { work, percent, limit } = options;
  // The median over the rounds, as of any figure: a single stall of the disk delays all streams of a moment.
  const waited = (contender: Contender): number =>
    median(
      (sessions.get(contender) ?? [])
        .filter(({ firstEvents }) => firstEvents.length > 0)
        .map(({ firstEvents }) => percentile(firstEvents, percent)),
    );
  const added = (contender: Contender): Figure => ({
    value: waited(contender) - waited(field.bare[contender.version]),
    cutOff: false,
  });
  const figures = both(field.ours).map(added);
  const bare = both(field.bare).map((contender) => ({ value: waited(contender), cutOff: false }));
  return {
    work,
    ours: pair(figures, " ms"),
    ratio: `bare ${pair(bare, " ms")}`,
    budget: `${short(limit)} ms`,
    isMet: figures.every(({ value }) => value <= limit),
    sdkV1: `${short(added(field.sdkV1).value)} ms`,
    sdkV03: `${short(added(field.sdkV03).value)} ms`,
  };
}

/** Measures one contender with many streams. */
export async function tokenSession(
  contender: Contender,
  { atOnce, windowMs }: Pick<Options, "atOnce" | "windowMs">,
): Promise<Session> {
  const { target } = contender;
  const tokens = Math.ceil(((RAMP_MS + 2 * windowMs) / 1000) * TOKENS_PER_SECOND);
  const order: Order = { manner: "tokens", count: tokens };
  const count = { events: 0 };
  const running = Array.from({ length: atOnce }, async (_, place) => {
    await sleep((place * RAMP_MS) / atOnce);
    return countEvents(await openStream(contender, order), count);
  });
  const all = Promise.all(running);
  all.catch(() => undefined);
  await sleep(RAMP_MS);
  // From outside, because an overloaded target would not answer.
  const [cpuBefore, before] = [target.busyCpu(), count.events];
  const rest = stayAwake();
  await sleep(windowMs);
  rest();
  const [cpuAfter, after] = [target.busyCpu(), count.events];
  const newcomers: Promise<number>[] = [];
  for (let waited = 0; waited < windowMs; waited += PROBE_MS) {
    newcomers.push(newcomer(contender));
    await sleep(PROBE_MS);
  }
  const arrived = Promise.all(newcomers);
  const isDone = await finishes(contender, Promise.all([all, arrived]));
  if (!isDone) await target.restart();
  const cpu = (cpuAfter ?? Number.NaN) - (cpuBefore ?? Number.NaN);
  return {
    perEvent: { value: cpu / (after - before), cutOff: false },
    firstEvents: isDone ? await arrived : [],
  };
}

async function newcomer(contender: Contender): Promise<number> {
  return (await stream(contender, { manner: "burst", count: 1 })).firstByteMs;
}

/** Counts the events of a stream as they arrive; resolves at its end. */
function countEvents({ response }: Opened, count: { events: number }): Promise<void> {
  let endsInBreak = false;
  return new Promise((resolve, reject) => {
    response.on("data", (piece: Buffer) => {
      if (endsInBreak && piece[0] === BREAK) count.events++;
      for (let at = piece.indexOf("\n\n"); at !== -1; at = piece.indexOf("\n\n", at + 2))
        count.events++;
      endsInBreak = piece.at(-1) === BREAK && piece.at(-2) !== BREAK;
    });
    response.on("error", reject);
    response.on("end", resolve);
  });
}

const BREAK = 0x0a;
