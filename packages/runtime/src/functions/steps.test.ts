import type { InternalEvent } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import type { StepResult } from "./json-value.ts";
import { type Step, type StepContext, StepError } from "./steps.ts";
import { FunctionRun } from "./function-run.ts";
import type { FunctionTurn } from "./function-turn.ts";
import { aTurn, eventsOf } from "../testing/a-turn.suite.ts";

/** What a step returns to its function, and what it records. */
async function resultOf(body: () => unknown): Promise<{ result: unknown; notes: string }> {
  let result: unknown;
  const run = new FunctionRun(aTurn().turn, async ({ step }) => {
    result = await step("s", body).catch((error: unknown) => error);
  });
  const events = await eventsOf(run);
  return { result, notes: JSON.stringify(events) };
}

class Money {
  readonly amount = 3;
}

type Json = string | number | null | readonly Json[] | { readonly [name: string]: Json };

interface Comment {
  readonly replies: readonly Comment[];
}

/** A step of one's own. */
function retried<T>(step: Step, body: ((context: StepContext) => T) & StepResult<T>) {
  return step("retried", body);
}

const itself: Record<string, unknown> = {};
itself["list"] = [itself];

describe("the result of a step", () => {
  test.each([
    undefined,
    null,
    "text",
    0,
    [1, [null, "a"]],
    { a: { b: [true] }, left: undefined },
    Object.create(null),
  ])("is returned as it is recorded: %j", async (value) => {
    const { result } = await resultOf(() => value);

    expect(result).toEqual(value);
  });

  test.each([
    ["a Map", { users: new Map() }, ".users is a Map"],
    ["a Date", [{ at: new Date(0) }], "[0].at is a Date"],
    ["an instance of a class", new Money(), " is a Money"],
    ["NaN", { n: [1, Number.NaN] }, ".n[1] is NaN"],
    ["a function", { f: () => 1 }, ".f is a function"],
    ["a bigint", 10n, " is a bigint"],
    ["undefined in a list", [undefined], "[0] is undefined"],
    ["a cycle", itself, ".list[0] is an object that contains itself"],
    ["bytes", new Uint8Array(1), " is a Uint8Array"],
  ])("cannot have %s: the error names the path", async (_name, value, problem) => {
    const { result, notes } = await resultOf(() => value);

    expect(result).toBeInstanceOf(StepError);
    expect((result as Error).name).toBe("TypeError");
    expect((result as Error).message).toContain(`the result of step "s"${problem}`);
    // The step fails in the same way in every attempt.
    expect(notes).toContain("internal:step-end");
    expect(notes).toContain("cannot be stored as JSON");
  });

  test("that JSON cannot represent is a compiler error", () => {
    interface Order {
      readonly id: string;
      readonly lines: readonly { readonly price?: number | null }[];
    }
    const check = async ({ step }: FunctionTurn): Promise<void> => {
      const order: Order = await step("order", async (): Promise<Order> => ({ id: "", lines: [] }));
      const nothing: void = await step("nothing", ({ key }) => void key);
      const parsed: unknown = await step("parsed", () => JSON.parse("1") as unknown);
      const tree = await step("tree", (): Json => ({ list: [1, { deep: null }] }));
      const comment = await step("comment", (): Comment => ({ replies: [] }));
      await retried(step, () => ({ tree, replies: comment.replies }));
      const at: StepResult<{ users: { at: Date }[] }> =
        "a step returns JSON, but its result.users[].at is not";
      // @ts-expect-error a Map becomes {}
      await step("map", () => new Map([["a", 1]]));
      // @ts-expect-error a Date becomes a string
      await step("date", async () => ({ order, at: new Date() }));
      // @ts-expect-error a method is dropped
      await step("method", () => ({ nothing, parsed, at, run: () => 1 }));
    };

    expect(check).toBeTypeOf("function");
    expect(retried).toBeTypeOf("function");
  });
});

test("what an earlier version recorded is replayed by its place in the log", async () => {
  const note = (kind: "step-start" | "step-end", name: string, more: object = {}) =>
    ({ kind: `internal:${kind}`, taskId: "t1", name, n: 1, ...more }) as InternalEvent;
  const journal = [
    note("step-start", "slow"),
    note("step-start", "quick"),
    { kind: "internal:sleep", taskId: "t1", until: "2026-01-31T11:00:00.000Z" } as InternalEvent,
    note("step-end", "quick", { result: "quick" }),
    { kind: "internal:woken", taskId: "t1" } as InternalEvent,
    note("step-end", "slow", { result: "slow" }),
  ];
  const order: string[] = [];

  await eventsOf(
    new FunctionRun(aTurn({ journal, attempt: 2 }).turn, async ({ step, sleep }) => {
      const note = (what: string) => (): unknown => order.push(what);
      await Promise.all([
        step("slow", () => "").then(note("slow")),
        step("quick", () => "").then(note("quick")),
        sleep(1).then(note("sleep")),
      ]);
    }),
  );

  expect(order).toEqual(["quick", "sleep", "slow"]);
});
