import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import {
  TASK_STATES,
  type TaskState,
  isInterrupted,
  isTerminal,
  mayFollow,
  textOf,
  withHistoryLength,
} from "./task.ts";
import { aMessage, aTask } from "../testing/arbitraries.suite.ts";
import { agentMessage, userMessage } from "./message.ts";
import { textOfParts, textPart } from "./part.ts";

const TERMINAL = ["completed", "canceled", "failed", "rejected"] as const;
const OPEN = ["working", "input-required", "auth-required"] as const;

/** Which states may follow which; every other pair is rejected. */
const SUCCESSORS: Readonly<Record<TaskState, readonly TaskState[]>> = {
  submitted: TASK_STATES,
  unknown: TASK_STATES,
  working: [...OPEN, ...TERMINAL],
  "input-required": [...OPEN, ...TERMINAL],
  "auth-required": [...OPEN, ...TERMINAL],
  completed: [],
  canceled: [],
  failed: [],
  rejected: [],
};

const PAIRS = TASK_STATES.flatMap((from) => TASK_STATES.map((to) => [from, to] as const));

verifies(["G5", "R105", "seed-C10"], "a task only moves forward, and its end is final", () => {
  const allowed = PAIRS.filter(([from, to]) => mayFollow(from, to));

  expect(PAIRS).toHaveLength(81);
  expect(allowed).toEqual(PAIRS.filter(([from, to]) => SUCCESSORS[from].includes(to)));
});

verifies(
  ["R105"],
  "there is no transition from a terminal state, or from working back to submitted",
  () => {
    const reachable = (from: TaskState): ReadonlySet<TaskState> => {
      const seen = new Set<TaskState>([from]);
      for (const state of seen) {
        for (const to of TASK_STATES) if (mayFollow(state, to)) seen.add(to);
      }
      return seen;
    };

    for (const end of TERMINAL) expect([...reachable(end)]).toEqual([end]);
    for (const open of OPEN) expect(reachable(open)).not.toContain("submitted");
  },
);

verifies(
  ["R25"],
  "there are nine states, of which four end a task and two wait for the caller",
  () => {
    expect(TASK_STATES).toEqual([
      "submitted",
      "working",
      "input-required",
      "auth-required",
      "completed",
      "canceled",
      "failed",
      "rejected",
      "unknown",
    ]);
    expect(TASK_STATES.filter(isTerminal)).toEqual(TERMINAL);
    expect(TASK_STATES.filter(isInterrupted)).toEqual(["input-required", "auth-required"]);
  },
);

describe("the history that a caller requests", () => {
  const history = ["m1", "m2", "m3"].map((messageId) => aMessage({ messageId }));
  const task = aTask({ history });

  test("is complete if no length is requested", () => {
    expect(withHistoryLength(task, undefined)).toBe(task);
  });

  test("is omitted for a length of 0", () => {
    expect(withHistoryLength(task, 0)).not.toHaveProperty("history");
    expect(withHistoryLength(task, 0)).toEqual(aTask());
  });

  verifies(["R15"], "has the newest n and never more", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 }), (length) => {
        const expected = history.slice(Math.max(0, history.length - length));

        expect(withHistoryLength(task, length)).toEqual(aTask({ history: expected }));
      }),
    );
  });

  test("is empty for a task without one", () => {
    expect(withHistoryLength(aTask(), 5)).toEqual(aTask());
    expect(withHistoryLength(aTask(), 0)).toEqual(aTask());
  });
});

const question = userMessage("m1", "how warm is it?");
const answer = agentMessage("m2", "warm");
const artifacts = [
  { artifactId: "a1", parts: [textPart("21 "), textPart("degrees")] },
  { artifactId: "a2", parts: [{ kind: "data", data: { celsius: 21 } }] },
  { artifactId: "a3", parts: [textPart("no wind")] },
] as const;

test("the text of parts is their texts without separators", () => {
  expect(textOfParts([textPart("a"), { kind: "data", data: 1 }, textPart("b")])).toBe("ab");
  expect(textOfParts([])).toBe("");
});

test("the artifacts are the answer, one per line", () => {
  const task = aTask({
    artifacts,
    history: [answer],
    status: { state: "completed", message: question },
  });

  expect(textOf(task)).toBe("21 degrees\nno wind");
});

test("without artifacts the last message is the answer", () => {
  const status = { state: "completed", message: answer } as const;

  expect(textOf(aTask({ status }))).toBe("warm");
  expect(textOf(aTask({ history: [question, answer, question] }))).toBe("warm");
  expect(textOf(answer)).toBe("warm");
});

test("an agent without output has no answer", () => {
  expect(textOf(aTask({ history: [question] }))).toBe("");
});
