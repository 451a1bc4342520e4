import { describe, expect, test } from "vitest";
import { AnswerStream } from "./answer-stream.ts";
import type { ModelEvent } from "./model.ts";

const FINISH: ModelEvent = {
  kind: "finish",
  reason: "stop",
  usage: { inputTokens: 1, outputTokens: 1 },
};

describe("an answer that is read in batches", () => {
  test("hands over together what has arrived together, and a lone event without another", async () => {
    const pause = Promise.withResolvers<void>();
    const { batches } = anAnswer(async function* () {
      yield* words(3);
      await pause.promise;
      yield* words(1);
      await new Promise(setImmediate);
      yield FINISH;
    });

    const first = await batches.next();
    pause.resolve();

    expect(first.value).toHaveLength(3);
    expect((await batches.next()).value).toEqual([{ kind: "text", text: "word 0 " }]);
    expect((await batches.next()).value).toEqual([FINISH]);
    expect((await batches.next()).done).toBe(true);
  });

  test("hands over what arrived before a failure, and then fails", async () => {
    const { batches } = anAnswer(async function* () {
      yield* words(2);
      throw new Error("the connection was lost");
    });

    expect((await batches.next()).value).toHaveLength(2);
    await expect(batches.next()).rejects.toThrow("the connection was lost");
    expect((await batches.next()).done).toBe(true);
  });

  test("is read at most 256 events ahead of its reader", async () => {
    let sent = 0;
    const { batches } = anAnswer(async function* () {
      for (;;) yield { kind: "text", text: `${(sent += 1)}` };
    });

    await batches.next();
    await new Promise(setImmediate);

    expect(sent).toBeGreaterThan(1);
    expect(sent).toBeLessThanOrEqual(2 * 256);
    await batches.return?.();
  });
});

test("while a long answer that arrived at once is read, other work goes on", async () => {
  const answer = anAnswer(async function* () {
    yield* words(5000);
    yield FINISH;
  });
  let turns = 0;
  let isRead = false;
  const turn = (): void => {
    turns += 1;
    if (!isRead) setImmediate(turn);
  };
  setImmediate(turn);

  let events = 0;
  for await (const _ of answer) events += 1;
  isRead = true;

  expect(events).toBe(5001);
  expect(turns).toBeGreaterThanOrEqual(5);
});

function anAnswer(send: () => AsyncGenerator<ModelEvent>): AnswerStream {
  let isFinished = false;
  return new AnswerStream({
    signal: new AbortController().signal,
    explain: (error) => error,
    translator: {
      get isFinished() {
        return isFinished;
      },
      translate: (part, events) => {
        const event = part as ModelEvent;
        isFinished = event.kind === "finish";
        events.push(event);
      },
    },
    ask: async () => {
      const parts = send();
      return { read: () => parts.next(), cancel: () => parts.return(undefined) };
    },
  });
}

function* words(count: number): Generator<ModelEvent> {
  for (let place = 0; place < count; place++) yield { kind: "text", text: `word ${place} ` };
}
