import { setImmediate as nextTick } from "node:timers/promises";
import { inspect } from "node:util";
import { type AgentEvent, agentMessage, textPart } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { FunctionRun, type RunResult } from "./function-run.ts";
import type { FunctionTurn } from "./function-turn.ts";
import { artifact, complete, fail, reject, reply, status } from "./function-output.ts";
import {
  type ATurn,
  aChunk,
  aQuestion,
  aStatus,
  aTurn,
  eventsOf,
} from "../testing/a-turn.suite.ts";

/** The complete output of a function in a turn. */
function say(run: (turn: FunctionTurn) => RunResult, { turn }: ATurn = aTurn()) {
  return eventsOf(new FunctionRun(turn, run));
}

describe("the answer", () => {
  verifies(
    ["R39"],
    "yielded text becomes chunks of one artifact: opened, appended, completed",
    async () => {
      const events = await say(async function* ({ text }) {
        yield text;
        yield ", ";
        yield "world";
      });

      expect(events).toEqual([
        aChunk("hello", { append: false }),
        aChunk(", ", { append: true }),
        aChunk("world", { append: true }),
        aChunk("", { append: true, lastChunk: true }),
      ]);
    },
  );

  verifies(["R39"], "returned text is the last chunk, or the only one", async () => {
    const streamed = await say(async function* () {
      yield "hello";
      return ", world";
    });
    const whole = await say(() => "hello");
    const later = await say(async () => "hello");

    expect(streamed).toEqual([
      aChunk("hello", { append: false }),
      aChunk(", world", { append: true, lastChunk: true }),
    ]);
    expect(whole).toEqual([aChunk("hello", { append: false, lastChunk: true })]);
    expect(later).toEqual(whole);
  });

  test("is empty for a function without output", async () => {
    expect(await say(() => undefined)).toEqual([]);
    expect(await say(async () => {})).toEqual([]);
    expect(await say(async function* () {})).toEqual([]);
    expect(await say(() => "")).toEqual([]);
  });

  test("a later turn adds its own answer", async () => {
    const artifacts = [
      { artifactId: "answer-1", parts: [{ kind: "text", text: "first" }] },
    ] as const;

    const [chunk] = await say(() => "second", aTurn({ artifacts }));

    expect(chunk).toMatchObject({ artifact: { artifactId: "answer-2" } });
  });

  test("a generator may delegate to another", async () => {
    const events = await say(async function* () {
      async function* inner() {
        yield "inner";
      }
      yield* inner();
    });

    expect(events).toEqual([
      aChunk("inner", { append: false }),
      aChunk("", { append: true, lastChunk: true }),
    ]);
  });

  test("a custom event is passed on unchanged", async () => {
    const note: AgentEvent = { kind: "internal:acme/note", taskId: "t1", thought: 42 };

    const events = await say(async function* () {
      yield note;
      return note;
    });

    expect(events).toEqual([note, note]);
  });
});

describe("output in addition to the answer", () => {
  test("a status is a message about the current work", async () => {
    const events = await say(async function* () {
      yield status("looking");
      yield "found";
    });

    expect(events).toEqual([
      aStatus("working", "id-1", "looking"),
      aChunk("found", { append: false }),
      aChunk("", { append: true, lastChunk: true }),
    ]);
  });

  test("an artifact is complete, separate from the answer and named by its author", async () => {
    const made = artifact("notes.txt", "hello", {
      description: "Notes.",
      mediaType: "text/markdown",
    });

    const events = await say(async function* () {
      yield "see";
      yield made;
    });

    expect(events[1]).toEqual({
      kind: "artifact-update",
      taskId: "t1",
      contextId: "c1",
      artifact: {
        artifactId: "notes.txt",
        name: "notes.txt",
        description: "Notes.",
        parts: [{ kind: "text", text: "hello", mediaType: "text/markdown" }],
      },
      append: false,
      lastChunk: true,
    });
    expect(events.at(-1)).toEqual(aChunk("", { append: true, lastChunk: true }));
  });

  test.each([
    ["text", "hello", undefined, { kind: "text", text: "hello" }],
    [
      "bytes",
      new TextEncoder().encode("xhellox").subarray(1, 6),
      "image/png",
      { kind: "file", file: { name: "it", mimeType: "image/png", bytes: "aGVsbG8=" } },
    ],
    [
      "nameless bytes",
      Buffer.from("hello"),
      undefined,
      { kind: "file", file: { name: "it", bytes: "aGVsbG8=" } },
    ],
    [
      "a URL",
      new URL("https://example.com/a.pdf"),
      "application/pdf",
      {
        kind: "file",
        file: { name: "it", mimeType: "application/pdf", uri: "https://example.com/a.pdf" },
      },
    ],
    ["an object", { a: 1 }, undefined, { kind: "data", data: { a: 1 } }],
    ["a list", [1, 2], undefined, { kind: "data", data: [1, 2] }],
    ["null", null, undefined, { kind: "data", data: null }],
    [
      "data with a media type",
      { a: 1 },
      "application/geo+json",
      { kind: "data", data: { a: 1 }, mediaType: "application/geo+json" },
    ],
  ])("an artifact of %s is the matching part", async (_, content, mediaType, part) => {
    const [event] = await say(() => artifact("it", content, { ...(mediaType && { mediaType }) }));

    expect(event).toMatchObject({ artifact: { artifactId: "it", parts: [part] } });
  });

  verifies(["R43"], "a reply is one message, yielded or returned", async () => {
    const returned = await say(() => reply("hello"));
    const yielded = await say(async function* () {
      yield reply("hello");
    });

    expect(returned).toEqual([agentMessage("id-1", "hello")]);
    expect(yielded).toEqual(returned);
  });

  test("a task is rejected or failed with the agent's own text", async () => {
    expect(await say(() => reject("not approved"))).toEqual([
      aStatus("rejected", "id-1", "not approved"),
    ]);
    expect(await say(async () => fail("no paper"))).toEqual([
      aStatus("failed", "id-1", "no paper"),
    ]);
  });

  test("an open answer is completed before the final status", async () => {
    const events = await say(async function* () {
      yield "half";
      return fail("no paper");
    });

    expect(events).toEqual([
      aChunk("half", { append: false }),
      aChunk("", { append: true, lastChunk: true }),
      aStatus("failed", "id-1", "no paper"),
    ]);
  });
});

test("an artifact may have several parts", async () => {
  const parts = [textPart("Sales"), { kind: "file", file: { uri: "https://example.com/a" } }];

  const [event] = await say(() => artifact("report", parts));

  expect(event).toMatchObject({ artifact: { name: "report", parts } });
});

test("a task can be completed with a text in its last status, after its answer", async () => {
  const said = aChunk("", { append: true, lastChunk: true });
  const yielded = await say(async function* () {
    yield "answer";
    yield complete("Done.");
  });
  const returned = await say(async function* () {
    yield "answer";
    return complete("Done.");
  });

  const end = [said, { ...aStatus("completed", "id-1", "Done."), final: true }];
  expect(yielded.slice(1)).toEqual(end);
  expect(returned.slice(1)).toEqual(end);
});

describe("order and backpressure", () => {
  test("questions and yielded text keep their order", async () => {
    const events = await say(
      async function* ({ ask }) {
        yield "one";
        const first = await ask("two?");
        yield first;
        const second = await ask("four?");
        return second;
      },
      aTurn({ answers: ["three", "five"] }),
    );

    expect(events).toEqual([
      aChunk("one", { append: false }),
      aQuestion(1, "two?"),
      aChunk("three", { append: true }),
      aQuestion(2, "four?"),
      aChunk("five", { append: true, lastChunk: true }),
    ]);
  });

  test("a question asked concurrently does not overtake what was yielded before it", async () => {
    const caller = aTurn({ answers: ["a"] });
    const question = Promise.withResolvers<void>();
    const run = new FunctionRun(caller.turn, async function* ({ ask }) {
      const later = question.promise.then(() => ask("late?"));
      await ask("early?");
      yield "between";
      await later;
    });

    const early = await run.next();
    const between = await run.next();
    question.resolve();
    await nextTick();
    caller.say("b");
    const rest = await eventsOf(run);

    expect(early.value).toEqual([
      expect.objectContaining({ kind: "internal:ask", question: "early?" }),
      aQuestion(1, "early?"),
    ]);
    expect(between.value).toEqual([aChunk("between", { append: false })]);
    expect(rest).toEqual([aQuestion(2, "late?"), aChunk("", { append: true, lastChunk: true })]);
  });

  test("a function runs at most 64 events ahead of its reader", async () => {
    let reached = 0;
    const run = new FunctionRun(aTurn().turn, async function* () {
      for (; reached < 1000; reached++) yield "more";
    });

    const first = await run.next();
    await nextTick();
    const ahead = reached;
    await nextTick();

    expect(first.value?.length).toBeLessThanOrEqual(64);
    expect(ahead).toBeLessThanOrEqual(2 * 64);
    expect(reached).toBe(ahead);
  });

  test("a single chunk is not held back for the next", async () => {
    const run = new FunctionRun(aTurn().turn, async function* () {
      yield "one";
      await new Promise(() => undefined);
    });

    expect((await run.next()).value).toEqual([aChunk("one", { append: false })]);
  });

  test.each([
    [
      "a generator",
      (begin: () => void) =>
        async function* () {
          begin();
          yield "hello";
        },
    ],
    ["a plain function", (begin: () => void) => async () => begin()],
  ])("%s does not start before it is read", async (_, make) => {
    let begun = false;
    const run = new FunctionRun(
      aTurn().turn,
      make(() => {
        begun = true;
      }),
    );
    await nextTick();

    const before = begun;
    await run.next();

    expect(before).toBe(false);
    expect(begun).toBe(true);
  });

  test("an ended run stays ended", async () => {
    const run = new FunctionRun(aTurn().turn, () => "hello");
    await eventsOf(run);

    expect(await run.next()).toEqual({ done: true, value: undefined });
    expect(await run.next()).toEqual({ done: true, value: undefined });
  });
});

describe("failures", () => {
  const broken = new Error("no paper");

  test.each([
    [
      "a function that throws",
      () => {
        throw broken;
      },
    ],
    ["a promise that rejects", () => Promise.reject(broken)],
    [
      "a generator that throws",
      async function* (): AsyncGenerator<string> {
        yield* [];
        throw broken;
      },
    ],
  ])("%s throws its own error at the reader", async (_, run) => {
    await expect(say(run)).rejects.toBe(broken);
  });

  test("output before a failure is delivered, and the failure stays", async () => {
    const run = new FunctionRun(aTurn().turn, async function* () {
      yield "half";
      throw broken;
    });

    expect((await run.next()).value).toEqual([aChunk("half", { append: false })]);
    await expect(run.next()).rejects.toBe(broken);
    await expect(run.next()).rejects.toBe(broken);
  });

  test.each([undefined, null, 5, {}, [], { kind: 5 }, { kind: "text", text: "a part" }])(
    "yielding %j fails the function, and its finally runs",
    async (nonsense) => {
      let cleaned = false;
      const run = say(async function* () {
        try {
          yield "first";
          yield nonsense as never;
        } finally {
          cleaned = true;
        }
      });

      const shown = inspect(nonsense);
      await expect(run).rejects.toThrow(`run yielded as output 2 ${shown}, which is no output`);
      await nextTick();
      expect(cleaned).toBe(true);
    },
  );

  test.each([null, 5, {}])("returning %j fails the function", async (nonsense) => {
    await expect(say(() => nonsense as never)).rejects.toThrow(
      `run returned ${inspect(nonsense)}, which is no output`,
    );
  });

  test.each(["ask", "authRequired", "step", "sleep"] as const)(
    "a promise of %s that becomes a text is an error that names the missing await",
    async (name) => {
      const run = say((turn) => {
        const call = turn[name] as unknown as (...given: unknown[]) => string;
        return `Hello, ${call(name === "sleep" ? 1 : "Who?", () => "Ann")}`;
      });

      await expect(run).rejects.toThrow(`${name}(…) returns a promise: write await ${name}(…)`);
    },
  );

  test("a run that is dropped before it started causes no unhandled rejection", async () => {
    const run = new FunctionRun(aTurn().turn, () => Promise.reject(broken));

    // An unhandled rejection would fail this test run.
    await run.return();
    await nextTick();

    expect(await run.next()).toEqual({ done: true, value: undefined });
  });
});

describe("stopping", () => {
  test("a reader that leaves ends the function, and its finally runs", async () => {
    const steps: string[] = [];
    const run = new FunctionRun(aTurn().turn, async function* () {
      try {
        for (;;) {
          steps.push("step");
          yield "more";
        }
      } finally {
        steps.push("cleaned");
      }
    });

    for await (const _ of run) break;
    await nextTick();

    expect(steps.filter((step) => step === "cleaned")).toHaveLength(1);
    expect(steps.at(-1)).toBe("cleaned");
  });

  test("a finally that throws after the reader has left is ignored", async () => {
    const run = new FunctionRun(aTurn().turn, async function* () {
      try {
        yield "more";
      } finally {
        await Promise.reject(new Error("no paper"));
      }
    });
    await run.next();

    expect(await run.return()).toEqual({ done: true, value: undefined });
    await nextTick();
  });

  test("after the reader has left there is nothing more to read", async () => {
    const run = new FunctionRun(aTurn().turn, async function* () {
      yield "one";
      yield "two";
    });
    await run.next();
    await run.return();

    expect(await run.next()).toEqual({ done: true, value: undefined });
  });

  test("a reader that leaves while it waits gets the end", async () => {
    const caller = aTurn();
    const run = new FunctionRun(caller.turn, async ({ ask }) => ask("Who?"));
    await run.next();

    const next = run.next();
    await run.return();
    caller.say("Ann");

    expect(await next).toEqual({ done: true, value: undefined });
    expect(await run.next()).toEqual({ done: true, value: undefined });
  });

  test("a function that never yields ends when it respects its signal", async () => {
    const caller = aTurn();
    const canceled = new Error("canceled");
    const run = new FunctionRun(caller.turn, async ({ signal }) => {
      await new Promise((_, give) => signal.addEventListener("abort", () => give(signal.reason)));
    });

    const next = run.next();
    await nextTick();
    caller.cancel(canceled);

    await expect(next).rejects.toBe(canceled);
  });
});
