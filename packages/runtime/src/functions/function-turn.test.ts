import { setImmediate as nextTick } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { FunctionRun, type RunResult } from "./function-run.ts";
import type { FunctionTurn } from "./function-turn.ts";
import {
  type ATurn,
  aChunk,
  aQuestion,
  aRequest,
  aStatus,
  aTurn,
  eventsOf,
} from "../testing/a-turn.suite.ts";

function say(run: (turn: FunctionTurn) => RunResult, { turn }: ATurn) {
  return eventsOf(new FunctionRun(turn, run));
}

test("a function sees the turn, and its message as text", async () => {
  const caller = aTurn({ text: "Ann" });
  let seen: FunctionTurn | undefined;

  await say((turn) => {
    seen = turn;
  }, caller);

  const { now: _, ...rest } = caller.turn;
  expect(seen).toMatchObject({ ...rest, text: "Ann" });
  expect(seen?.now()).toEqual(new Date("2026-01-31T12:00:00Z"));
});

test("the functions for other output are also on the turn", async () => {
  const events = await say(async function* ({ status, artifact, reject }) {
    yield status("looking");
    yield artifact("a.json", { a: 1 });
    return reject("not today");
  }, aTurn());

  expect(events.map(({ kind }) => kind)).toEqual([
    "status-update",
    "artifact-update",
    "status-update",
  ]);
});

describe("asking", () => {
  verifies(
    ["R57"],
    "a question is a final input-required status with the agent's text and data for programs",
    async () => {
      const caller = aTurn();
      const run = new FunctionRun(caller.turn, async ({ ask }) => `Hello, ${await ask("Who?")}!`);

      const question = await run.next();

      expect(question.value).toEqual([
        {
          kind: "internal:ask",
          taskId: "t1",
          question: "Who?",
          state: "input-required",
          requestId: "id-1:1",
          n: 0,
          after: 0,
        },
        { ...aQuestion(1, "Who?"), final: true },
      ]);
    },
  );

  test("the function waits for the answer and continues with it", async () => {
    const caller = aTurn();
    const run = new FunctionRun(caller.turn, async ({ ask }) => `Hello, ${await ask("Who?")}!`);
    await run.next();
    let isWaiting = true;
    const rest = eventsOf(run).finally(() => {
      isWaiting = false;
    });
    await nextTick();

    expect(isWaiting).toBe(true);
    caller.say("Ann");

    expect(await rest).toEqual([aChunk("Hello, Ann!", { append: false, lastChunk: true })]);
  });

  test("a question can be the very first thing that a generator does", async () => {
    const events = await say(
      async function* ({ ask }) {
        yield await ask("Who?");
      },
      aTurn({ answers: ["Ann"] }),
    );

    expect(events).toEqual([
      aQuestion(1, "Who?"),
      aChunk("Ann", { append: false }),
      aChunk("", { append: true, lastChunk: true }),
    ]);
  });

  test("a question does not end the answer that was started before it", async () => {
    const events = await say(
      async function* ({ ask }) {
        yield "Hello, ";
        yield await ask("Who?");
      },
      aTurn({ answers: ["Ann"] }),
    );

    expect(events).toEqual([
      aChunk("Hello, ", { append: false }),
      aQuestion(1, "Who?"),
      aChunk("Ann", { append: true }),
      aChunk("", { append: true, lastChunk: true }),
    ]);
  });

  test("two questions get two answers", async () => {
    const events = await say(
      async ({ ask }) => `${await ask("First?")} ${await ask("Second?")}`,
      aTurn({ answers: ["Ann", "Lee"] }),
    );

    expect(events).toEqual([
      aQuestion(1, "First?"),
      aQuestion(2, "Second?"),
      aChunk("Ann Lee", { append: false, lastChunk: true }),
    ]);
  });

  test("choices are shown, and the selected one is returned", async () => {
    const events = await say(
      async ({ ask }) => ask("Refund?", ["Yes", "No"]),
      aTurn({ answers: [" yes\n"] }),
    );

    expect(events).toEqual([
      aQuestion(1, "Refund?", { text: "Refund? (Yes / No)", options: ["Yes", "No"] }),
      aChunk("Yes", { append: false, lastChunk: true }),
    ]);
  });

  test("an answer that is none of the choices is asked for again until it is one", async () => {
    const options = ["Yes", "No"];
    const text = "Please answer with one of: Yes, No.";

    const events = await say(
      async ({ ask }) => ask("Refund?", ["Yes", "No"]),
      aTurn({ answers: ["maybe", "", "NO"] }),
    );

    expect(events).toEqual([
      aQuestion(1, "Refund?", { text: "Refund? (Yes / No)", options }),
      aQuestion(1, "Refund?", { text, options, messageId: "id-1-2" }),
      aQuestion(1, "Refund?", { text, options, messageId: "id-1-3" }),
      aChunk("No", { append: false, lastChunk: true }),
    ]);
  });

  test("without choices every answer is accepted", async () => {
    const events = await say(async ({ ask }) => `<${await ask("Who?")}>`, aTurn({ answers: [""] }));

    expect(events.at(-1)).toEqual(aChunk("<>", { append: false, lastChunk: true }));
  });
});

test("a request for authorization does not end the interaction", async () => {
  const events = await say(
    async ({ authRequired }) => authRequired("Log in at https://login.test"),
    aTurn({ answers: ["done"] }),
  );

  const prompt = "Log in at https://login.test";
  const status = { ...aStatus("auth-required", "id-1", prompt), final: false };
  expect(events).toEqual([
    aRequest(status, {
      kind: "auth-request",
      requestId: "id-1:1",
      prompt,
      url: "https://login.test/",
    }),
    aChunk("done", { append: false, lastChunk: true }),
  ]);
});

describe("when no answer will come", () => {
  test("a cancel while it asks throws the reason inside the function, and its finally runs", async () => {
    const caller = aTurn();
    const canceled = new Error("canceled by its caller");
    let cleaned = false;
    const run = new FunctionRun(caller.turn, async function* ({ ask }) {
      try {
        yield await ask("Who?");
      } finally {
        cleaned = true;
      }
    });
    await run.next();

    const next = run.next();
    caller.cancel(canceled);

    await expect(next).rejects.toBe(canceled);
    expect(cleaned).toBe(true);
  });

  test("a function may catch that and still emit a final status", async () => {
    const caller = aTurn();
    const run = new FunctionRun(caller.turn, async ({ ask, fail }) => {
      try {
        return await ask("Who?");
      } catch {
        return fail("nobody there");
      }
    });
    await run.next();

    caller.cancel(new Error("canceled"));

    expect(await eventsOf(run)).toEqual([aStatus("failed", "id-2", "nobody there")]);
  });

  test("an inbox that ends without a cancel is an error that says so", async () => {
    const caller = aTurn();
    caller.hangUp();

    await expect(say(({ ask }) => ask("Who?"), caller)).rejects.toThrow(
      "no answer will come any more",
    );
  });
});
