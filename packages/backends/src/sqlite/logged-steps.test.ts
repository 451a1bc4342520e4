import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { packLines } from "../storage/front-coding.ts";
import { LONGEST_RECORD } from "./commit-log.ts";
import { readLogText, toLogText } from "./logged-steps.ts";
import type { SentStep } from "./thread-messages.ts";

const RUNS = Number(process.env["CONVOKE_PROPERTY_RUNS"] ?? 100);

const text = fc.string({ unit: "binary" });
const number = fc.nat();
const event = fc.dictionary(text, text).map((value) => JSON.stringify(value));

/** A step with all fields, some of them, or only those that every step has. */
const step: fc.Arbitrary<SentStep> = fc
  .record(
    {
      taskId: text,
      epoch: number,
      events: fc.array(event, { maxLength: 5 }),
      state: fc.constantFrom("submitted", "working", "completed"),
      statusAt: number,
      listed: fc.boolean(),
      after: fc.record({ head: number, epoch: number }),
      create: fc.record(
        {
          owner: text,
          contextId: text,
          agent: text,
          agentId: text,
          createdAt: number,
          unlessForgotten: fc.constant(true as const),
        },
        { requiredKeys: ["owner", "contextId", "agent", "createdAt"] },
      ),
      message: fc.record({ messageId: text, digest: text }),
      perAgent: fc.constant(true as const),
      snapshot: fc.record({ seq: number, json: event }),
      wakeAt: fc.option(number),
      push: fc.record({ id: text, config: text, cursor: number }),
    },
    { requiredKeys: ["taskId", "epoch", "events", "state", "statusAt", "listed"] },
  )
  .map(({ events, ...rest }) => ({ ...rest, count: events.length, body: packLines(events) }));

describe("the text of a record", () => {
  test("has every field of its steps, except for snapshots, which can be made again", () => {
    fc.assert(
      fc.property(number, fc.array(step, { maxLength: 4 }), (at, steps) => {
        const kept = steps.map((whole) => {
          const { snapshot: _snapshot, ...rest } = whole;
          return rest;
        });
        expect(readLogText(toLogText(at, steps)!)).toEqual({ at, steps: kept });
      }),
      { numRuns: RUNS },
    );
  });

  const plain: SentStep = {
    taskId: "t1",
    epoch: 1,
    count: 1,
    body: "{}",
    state: "working",
    statusAt: 1,
    listed: true,
  };

  test.each([
    ["another write than a step", { kind: "delete-push", taskId: "t1", id: "p1" }],
    ["more than fits", { ...plain, body: JSON.stringify("x".repeat(LONGEST_RECORD)) }],
  ] as const)("is not made of %s", (_, write) => {
    expect(toLogText(1, [plain, write])).toBeUndefined();
    expect(toLogText(1, [plain])).toBeDefined();
  });
});
