import type { CommitStep, Seq, StoredSnapshot } from "@convoke/engine";
import type { TaskState } from "@convoke/protocol";
import fc from "fast-check";

/** An operation on a backend. */
export type BackendCommand =
  /** Steps that are submitted without waiting for each other; they are applied in this order. */
  | { readonly kind: "commit"; readonly steps: readonly CommitStep[] }
  | { readonly kind: "read"; readonly taskId: string; readonly after: Seq; readonly limit: number }
  | { readonly kind: "follow"; readonly taskId: string }
  | { readonly kind: "list"; readonly owner: string; readonly state: TaskState | undefined }
  | { readonly kind: "reopen" };

const taskIds = fc.constantFrom("t0", "t1", "t2", "t3");
const owners = fc.constantFrom("ann", "bob");
const states: fc.Arbitrary<TaskState> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<TaskState>("working", "input-required") },
  { weight: 1, arbitrary: fc.constantFrom<TaskState>("submitted", "auth-required", "unknown") },
  { weight: 1, arbitrary: fc.constantFrom<TaskState>("completed", "canceled", "failed") },
);

const messages = fc.record({
  messageId: fc.constantFrom("m0", "m1", "m2", "m3", "m4"),
  digest: fc.constantFrom("d0", "d1"),
});

const snapshots: fc.Arbitrary<StoredSnapshot> = fc.record({
  seq: fc.nat({ max: 8 }),
  json: fc.constantFrom('{"fold":1}', '{"fold":2}'),
});

const texts = fc.string({ maxLength: 6 }).map((text) => JSON.stringify({ text }));

const claims = {
  taskId: taskIds,
  events: fc.array(texts, { maxLength: 3 }),
  state: states,
  statusAt: fc.nat({ max: 5 }),
  listed: fc.boolean(),
};

const creations: fc.Arbitrary<CommitStep> = fc.record({
  ...claims,
  epoch: fc.constant(1),
  create: fc.record({
    owner: owners,
    contextId: fc.constantFrom("c0", "c1"),
    agent: fc.constant("model"),
    createdAt: fc.nat({ max: 5 }),
  }),
  message: messages,
});

const appends: fc.Arbitrary<CommitStep> = fc.record(
  {
    ...claims,
    epoch: fc.integer({ min: 1, max: 4 }),
    after: fc.record({ head: fc.nat({ max: 6 }), epoch: fc.integer({ min: 1, max: 4 }) }),
    message: messages,
    snapshot: snapshots,
    wakeAt: fc.option(fc.nat({ max: 5 })),
  },
  { requiredKeys: ["taskId", "events", "state", "statusAt", "listed", "epoch"] },
);

const steps = fc.oneof({ weight: 1, arbitrary: creations }, { weight: 2, arbitrary: appends });

export const backendCommands: fc.Arbitrary<BackendCommand> = fc.oneof(
  {
    weight: 18,
    arbitrary: fc.record({
      kind: fc.constant("commit" as const),
      steps: fc.array(steps, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("read" as const),
      taskId: taskIds,
      after: fc.nat({ max: 8 }),
      limit: fc.nat({ max: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("follow" as const), taskId: taskIds }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("list" as const),
      owner: owners,
      state: fc.option(states, { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reopen" as const) }) },
);
