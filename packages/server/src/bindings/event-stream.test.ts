import { once } from "node:events";
import { type Engine, LogReader, type Seq, type StoredEvent, closesAtFinal } from "@convoke/engine";
import { OpenStreams } from "../../../engine/src/task/limits.ts";
import { CODECS, SseDecoder } from "@convoke/protocol";
import { describe, expect, onTestFinished, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { anAgentInfo } from "../cards/an-agent-info.suite.ts";
import { EventStream } from "./event-stream.ts";
import { KeepAlive } from "./keep-alive.ts";
import { SseFraming } from "./sse.ts";

/** A log that grows when the test says so, and is read as slowly as the test wants. */
class ALog {
  readonly reads: { readonly after: Seq; readonly answer: PromiseWithResolvers<void> }[] = [];
  isHeld = false;
  readers = 0;
  readonly closing = new AbortController();
  readonly #events: string[] = [];
  #wake: () => void = () => undefined;

  /** The parts of the engine that a reader of a stored log uses. */
  readonly engine = {
    closing: this.closing.signal,
    openStreams: new OpenStreams({ streams: 100, ownerStreams: 100 }),
    agents: { first: { info: anAgentInfo(), removed: new AbortController().signal } },
    tasks: { get: () => undefined, current: () => undefined },
    backend: {
      read: (_taskId: string, after: Seq, limit: number) => this.#read(after, limit),
      watch: (_taskId: string, wake: () => void) => {
        this.readers++;
        this.#wake = wake;
        return () => {
          this.readers--;
        };
      },
    },
  } as unknown as Engine;

  append(...events: readonly object[]): void {
    this.#events.push(...events.map((event) => JSON.stringify(event)));
    this.#wake();
  }

  /** The current events, returned when the test allows it. */
  async #read(after: Seq, limit: number): Promise<readonly StoredEvent[]> {
    const page = this.#events
      .slice(after, after + limit)
      .map((json, place) => ({ seq: after + place + 1, json }));
    const answer = Promise.withResolvers<void>();
    this.reads.push({ after, answer });
    if (!this.isHeld) answer.resolve();
    await answer.promise;
    return page;
  }
}

/** A client that reads as long as the test allows it. */
class AReader {
  text = "";
  ends = 0;
  isBehind = false;
  isBroken = false;
  readonly control: ReturnType<EventStream["open"]>;

  constructor(log: ALog, isObserver = false) {
    const keepAlive = new KeepAlive();
    onTestFinished(() => keepAlive.close());
    const source = {
      engine: log.engine,
      agent: log.engine.agents.first,
      taskId: "t",
      owner: "ann",
      after: 0,
      closesAfter: closesAtFinal,
    };
    const stream = new EventStream({
      source,
      reader: new LogReader(source),
      framing: new SseFraming({
        codec: CODECS["0.3"],
        prefix: "",
        suffix: "",
        errorText: (error) => (error as Error).message,
      }),
      keepAlive,
      isObserver,
    });
    this.control = stream.open({
      write: (text) => {
        if (this.isBroken) throw new Error("it cannot be written to");
        this.text += String(text);
        return !this.isBehind;
      },
      end: () => {
        this.ends++;
      },
      abort: () => undefined,
    });
  }

  get ids(): readonly number[] {
    return new SseDecoder().push(this.text).map(({ id }) => Number(id));
  }
}

function aStatus(state: string, final = false): object {
  return { kind: "status-update", taskId: "t", contextId: "c", status: { state }, final };
}

function eventually<T>(value: () => T) {
  return expect.poll(value, { timeout: 20_000 });
}

const TASK = { kind: "task", id: "t", contextId: "c", status: { state: "submitted" } };
const DONE = aStatus("completed", true);

test("existing events come first, and later ones when they are committed", async () => {
  const log = new ALog();
  log.append(TASK, aStatus("working"));
  const reader = new AReader(log);

  await eventually(() => reader.ids).toEqual([1, 2]);
  log.append({ kind: "internal:acme/note", taskId: "t" });
  log.append(DONE);

  await eventually(() => reader.ends).toBe(1);
  expect(reader.ids).toEqual([1, 2, 4]);
  expect(log.readers).toBe(0);
});

test("a commit is read at once if the transport is about to send, and only then", async () => {
  const log = new ALog();
  log.append(TASK);
  const reader = new AReader(log);
  await eventually(() => reader.ids).toEqual([1]);
  await eventually(() => log.reads.at(-1)?.after).toBe(1);
  const reads = log.reads.length;

  reader.control.flush?.();
  expect(log.reads).toHaveLength(reads);
  log.append(DONE);
  expect(log.reads).toHaveLength(reads);
  reader.control.flush?.();
  expect(log.reads).toHaveLength(reads + 1);

  await eventually(() => reader.ends).toBe(1);
  expect(reader.ids).toEqual([1, 2]);
});

test("a stream that cannot be written to does not keep the others open when the engine closes", async () => {
  const log = new ALog();
  log.append(TASK);
  const [broken, other] = [new AReader(log), new AReader(log)];
  await eventually(() => [broken.ids, other.ids]).toEqual([[1], [1]]);
  const warned = once(process, "warning");
  broken.isBroken = true;

  log.closing.abort();

  expect(other.ends).toBe(1);
  expect(String(await warned)).toContain("it cannot be written to");
});

test("an observer is not counted as a client of the task, but as a stream of its owner", async () => {
  const log = new ALog();
  log.append(TASK);
  const { openStreams } = log.engine;
  const observer = new AReader(log, true);
  expect([openStreams.has("t"), openStreams.total]).toEqual([false, 1]);
  const client = new AReader(log);
  expect([openStreams.has("t"), openStreams.total]).toEqual([true, 2]);

  client.control.closed();
  observer.control.closed();

  expect([openStreams.has("t"), openStreams.total]).toEqual([false, 0]);
});

test("a commit while an older page is being read is not missed", async () => {
  const log = new ALog();
  log.append(TASK);
  const reader = new AReader(log);
  await eventually(() => log.reads.length).toBe(2);
  log.isHeld = true;
  log.append(aStatus("working"));
  await eventually(() => log.reads.length).toBe(3);

  // The third read is in progress and has seen nothing of this.
  log.append(DONE);
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  log.isHeld = false;
  for (const { answer } of log.reads) answer.resolve();

  await eventually(() => reader.ends).toBe(1);
  expect(reader.ids).toEqual([1, 2, 3]);
});

test("a commit while an empty page is being read is not missed", async () => {
  const log = new ALog();
  log.isHeld = true;
  const reader = new AReader(log);
  await eventually(() => log.reads.length).toBe(1);

  log.append(TASK, DONE);
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  log.isHeld = false;
  log.reads[0]?.answer.resolve();

  await eventually(() => reader.ends).toBe(1);
  expect(reader.ids).toEqual([1, 2]);
});

describe("a reader that is behind", () => {
  test("receives nothing until it has caught up, and then everything", async () => {
    const log = new ALog();
    log.append(TASK);
    const reader = new AReader(log);
    await eventually(() => reader.ids).toEqual([1]);
    reader.isBehind = true;
    log.append(aStatus("working"));
    await eventually(() => reader.ids).toEqual([1, 2]);

    for (let count = 0; count < 1000; count++) log.append(aStatus("working"));
    const reads = log.reads.length;
    await new Promise((resolve) => setImmediate(resolve));
    expect(reader.ids).toEqual([1, 2]);
    expect(log.reads.length).toBe(reads);

    reader.isBehind = false;
    log.append(DONE);
    reader.control.drained();
    await eventually(() => reader.ends).toBe(1);
    expect(reader.ids).toEqual(Array.from({ length: 1003 }, (_, place) => place + 1));
  });

  test("receives no page after the one it could not take", async () => {
    const log = new ALog();
    log.append(TASK, ...Array.from({ length: 1000 }, () => aStatus("working")));
    const reader = new AReader(log);
    reader.isBehind = true;

    await eventually(() => reader.ids.length).toBe(256);
    for (let page = 2; page <= 3; page++) {
      reader.control.drained();
      await eventually(() => reader.ids.length).toBe(page * 256);
    }
    reader.control.closed();
  });
});

verifies(
  "sdk-p7",
  "a reader that leaves is released, and nothing more is read for it",
  async () => {
    const log = new ALog();
    log.append(TASK);
    const reader = new AReader(log);
    await eventually(() => reader.ids).toEqual([1]);

    reader.control.closed();
    const reads = log.reads.length;
    log.append(aStatus("working"), DONE);
    await new Promise((resolve) => setImmediate(resolve));

    expect(reader.ids).toEqual([1]);
    expect(log.reads.length).toBe(reads);
    expect(log.readers).toBe(0);
    expect(reader.ends).toBe(0);
  },
);

verifies("R36", "a log that cannot be read is reported once, and ends the stream", async () => {
  const log = new ALog();
  log.append(TASK);
  const reader = new AReader(log);
  await eventually(() => reader.ids).toEqual([1]);
  await eventually(() => log.reads.length).toBe(2);
  log.isHeld = true;
  log.append(aStatus("working"));
  await eventually(() => log.reads.length).toBe(3);

  log.reads[2]?.answer.reject(new Error("bad sector"));

  await eventually(() => reader.ends).toBe(1);
  expect(reader.text.endsWith("event: error\ndata: bad sector\n\n")).toBe(true);
  expect(log.readers).toBe(0);
});
