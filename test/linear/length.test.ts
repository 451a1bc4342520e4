import { defineAgent } from "convoke";
import { setImmediate as nextTurn } from "node:timers/promises";
import { textOf } from "@convoke/protocol";
import { type Engine, isSettled, subscribeToTask } from "@convoke/engine";
import { describe, expect, onTestFinished } from "vitest";
import { Reader } from "../engine/a-reader.ts";
import { CALLER, anEngine, tell } from "../engine/an-engine.ts";
import { verifies } from "../verifies.ts";
import { BACKENDS } from "./backends.ts";
import type { CountedBackend } from "./counted-backend.ts";
import { MOST_GROWTH, expectFewSnapshots, expectNoGrowth } from "./expected-costs.ts";
import { type Cost, each } from "./ledger.ts";

const SHORT = 2_000;
const LONG = 40_000;
const QUARTER = LONG / 4;

/** How many chunks are emitted in one turn of the event loop. */
const AT_ONCE = 20;

const CALL = { caller: CALLER, version: "0.3", trace: undefined, lastEventId: "0" } as const;

describe.each(Object.entries(BACKENDS))("in %s", (_, open) => {
  verifies("G9", "a chunk of a long answer costs the same as one of a short answer", async () => {
    const short = await answered(await open(), { chunks: SHORT, text: "word " });
    const long = await answered(await open(), { chunks: LONG, text: "word " });

    expectWritingConstant(long, short);
    expectFollowingConstant(long);
    await expectReadingConstant(long, short);
  });

  verifies("G9", "snapshots of a large answer cost a fraction of its events", async () => {
    const { backend } = await answered(await open(), { chunks: 1500, text: "x".repeat(4000) });

    expect(backend.ledger.between(0).snapshotBytes).toBeGreaterThan(1_000_000);
    expectFewSnapshots(backend.ledger);
  });
});

function expectWritingConstant(long: Answered, short: Answered): void {
  const { ledger } = long.backend;
  const first = perEvent(ledger.whileEvents(0, QUARTER));
  const last = perEvent(ledger.whileEvents(3 * QUARTER, LONG));
  const all = perEvent(ledger.whileEvents(0, LONG));
  const ofShort = perEvent(short.backend.ledger.whileEvents(0, SHORT + AT_ONCE));

  expect(written(last) / written(first)).toBeLessThan(MOST_GROWTH);
  expect(written(all) / written(ofShort)).toBeLessThan(MOST_GROWTH);
  // Chunks that are emitted together are one commit, regardless of the length of the log.
  for (const { commits } of [first, last, ofShort]) expect(commits).toBeLessThan(2 / AT_ONCE);
}

function expectFollowingConstant({ backend, follower }: Answered): void {
  const last = perEvent(backend.ledger.whileEvents(3 * QUARTER, LONG));

  expect(textOf(follower.fold())).toHaveLength("word ".length * LONG);
  expect(last.lookups).toBe(0);
  // Most reads are served from the writer's memory; a reader that is behind reads each page once.
  expect(last.eventsRead).toBeLessThan(1.5);
  expect(backend.ledger.between(0).eventsRead).toBeLessThanOrEqual(LONG + AT_ONCE);
}

/** For a reader of the whole log when it is complete. */
async function expectReadingConstant(long: Answered, short: Answered): Promise<void> {
  const ofShort = await costOfReading(short, SHORT);
  const ofLong = await costOfReading(long, LONG);

  expectNoGrowth(ofLong, ofShort);
  expect(ofLong.eventsRead).toBeLessThan(1.5);
}

async function costOfReading(answer: Answered, chunks: number): Promise<Cost> {
  const { ledger } = answer.backend;
  const before = ledger.mark;
  const reader = await readFromTheStart(answer);
  await reader.ended;
  expect(textOf(reader.fold())).toHaveLength("word ".length * chunks);
  return each(ledger.between(before), chunks);
}

interface Answered {
  readonly backend: CountedBackend;
  readonly engine: Engine;
  readonly taskId: string;
  /** A reader that followed the answer from its start. */
  readonly follower: Reader;
}

/** An answer with this many chunks, and a reader that follows it. */
async function answered(
  backend: CountedBackend,
  { chunks, text }: { readonly chunks: number; readonly text: string },
): Promise<Answered> {
  const agent = defineAgent({
    name: "Talker",
    description: "Says one thing many times.",
    async *run() {
      for (let chunk = 0; chunk < chunks; chunk++) {
        if (chunk % AT_ONCE === 0) await nextTurn();
        yield text;
      }
    },
  });
  const engine = anEngine(agent, backend);
  onTestFinished(() => engine.close());
  const { live } = await tell(engine, "go");
  const { id: taskId } = live.task;
  const follower = await readFromTheStart({ engine, taskId });
  await Promise.all([live.until(isSettled), follower.ended]);
  expect(live.task.status.state).toBe("completed");
  return { backend, engine, taskId, follower };
}

async function readFromTheStart({
  engine,
  taskId,
}: Pick<Answered, "engine" | "taskId">): Promise<Reader> {
  return new Reader(
    await subscribeToTask({ taskId }, { engine, agent: engine.agents.first, ...CALL }),
  );
}

function perEvent(cost: Cost): Cost {
  return each(cost, cost.events);
}

function written({ eventBytes, snapshotBytes }: Cost): number {
  return eventBytes + snapshotBytes;
}
