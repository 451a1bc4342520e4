import fc from "fast-check";
import type { Death } from "./a-process.ts";
import { LETTERS, type Program } from "./program.ts";

/**
 * An operation on the server. Tasks and messages are identified by their index, modulo their
 * number.
 */
export type Command =
  /** A message that creates a task, possibly sent several times at once. */
  | { readonly kind: "send"; readonly program: Program; readonly copies: number }
  /** The same, by a caller that waits until the task has ended or asks. */
  | { readonly kind: "send and wait"; readonly program: Program; readonly copies: number }
  /** An earlier message again, possibly with different content. */
  | { readonly kind: "retry"; readonly message: number; readonly changed: boolean }
  /** A message to a task, whether it waits for one or not. */
  | {
      readonly kind: "answer";
      readonly task: number;
      readonly program: Program;
      readonly copies: number;
    }
  | { readonly kind: "cancel"; readonly task: number }
  /** Time passes, and due timers fire. */
  | { readonly kind: "advance"; readonly hours: number }
  | { readonly kind: "get"; readonly task: number }
  | {
      readonly kind: "follow";
      readonly task: number;
      /** Where to start: with a snapshot, or after this sequence, modulo the length of the log. */
      readonly after: number | undefined;
      readonly version: "0.3" | "1.0";
    }
  | { readonly kind: "leave"; readonly follower: number }
  /** The process dies during this batch, and the next one possibly while it recovers. */
  | { readonly kind: "crash"; readonly death: Death; readonly again: Death | undefined };

/** Commands that are given at once; each waits some turns of the event loop first. */
export type Batch = readonly { readonly command: Command; readonly delay: number }[];

/** How the agent is defined, and how slow the disk is. */
export interface Setting {
  readonly takesMessages: boolean;
  readonly restart: boolean;
  readonly sideEffects: boolean;
  readonly inputTimeout: "continue" | "fail" | undefined;
  readonly timeoutHours: number | undefined;
  readonly maxParkedRuns: number | undefined;
  readonly delays: readonly number[];
}

const programs: fc.Arbitrary<Program> = fc.string({
  unit: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom("s", "t", "a", "z") },
    { weight: 2, arbitrary: fc.constantFrom("y", "i", "h", "q") },
    { weight: 1, arbitrary: fc.constantFrom(...LETTERS.split("")) },
  ),
  maxLength: 6,
});

const numbers = fc.nat({ max: 7 });
const copies = fc.oneof(
  { weight: 3, arbitrary: fc.constant(1) },
  { weight: 1, arbitrary: fc.integer({ min: 2, max: 3 }) },
);

const deaths: fc.Arbitrary<Death> = fc.record({
  atCommit: fc.integer({ min: 1, max: 5 }),
  isWritten: fc.boolean(),
});

function command<K extends Command["kind"]>(
  kind: K,
  fields: {
    [F in Exclude<keyof Extract<Command, { kind: K }>, "kind">]: fc.Arbitrary<
      Extract<Command, { kind: K }>[F]
    >;
  },
): fc.Arbitrary<Command> {
  return fc.record({ kind: fc.constant(kind), ...fields }) as unknown as fc.Arbitrary<Command>;
}

const commands: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: command("send", { program: programs, copies }) },
  { weight: 1, arbitrary: command("send and wait", { program: programs, copies }) },
  { weight: 2, arbitrary: command("retry", { message: numbers, changed: fc.boolean() }) },
  { weight: 8, arbitrary: command("answer", { task: numbers, program: programs, copies }) },
  { weight: 2, arbitrary: command("cancel", { task: numbers }) },
  { weight: 4, arbitrary: command("advance", { hours: fc.integer({ min: 0, max: 3 }) }) },
  { weight: 1, arbitrary: command("get", { task: numbers }) },
  {
    weight: 3,
    arbitrary: command("follow", {
      task: numbers,
      after: fc.option(fc.nat({ max: 30 }), { nil: undefined }),
      version: fc.constantFrom("0.3", "1.0"),
    }),
  },
  { weight: 1, arbitrary: command("leave", { follower: numbers }) },
  {
    weight: 2,
    arbitrary: command("crash", {
      death: deaths,
      again: fc.option(deaths, { nil: undefined, freq: 3 }),
    }),
  },
);

const batches: fc.Arbitrary<Batch> = fc.array(
  fc.record({ command: commands, delay: fc.nat({ max: 3 }) }),
  { minLength: 1, maxLength: 4 },
);

export const plans: fc.Arbitrary<readonly Batch[]> = fc.array(batches, {
  minLength: 1,
  maxLength: 10,
  size: "max",
});

export const settings: fc.Arbitrary<Setting> = fc.record({
  takesMessages: fc.boolean(),
  restart: fc.boolean(),
  sideEffects: fc.boolean(),
  inputTimeout: fc.constantFrom<Setting["inputTimeout"]>(undefined, "continue", "fail"),
  timeoutHours: fc.constantFrom(undefined, undefined, 5),
  maxParkedRuns: fc.constantFrom(undefined, 0, 1),
  delays: fc.array(fc.nat({ max: 2 }), { minLength: 1, maxLength: 5 }),
});
