import type { AgentEvent } from "@convoke/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LoggedEvent } from "../server/event-log.ts";
import { findModelCalls, total } from "./model-calls.ts";
import { tellStory } from "./story.ts";
import { timeScale } from "./time-scale.ts";
import { buildTimeline } from "./timeline.ts";

/** Notes of one task, a tenth of a second apart. */
function logOf(...events: readonly object[]): readonly LoggedEvent[] {
  return events.map((event, place) => ({
    from: place + 1,
    seq: place + 1,
    at: 1000 + place * 100,
    event: { taskId: "t", contextId: "c", ...event } as AgentEvent,
  }));
}

function chunk(text: string): object {
  const artifact = { artifactId: "a", parts: [{ kind: "text", text }] };
  return { kind: "artifact-update", artifact, append: true };
}

function status(state: string, text?: string): object {
  const parts = [{ kind: "text", text }];
  const message = text && { kind: "message", messageId: text, role: "agent", parts };
  return { kind: "status-update", status: { state, message }, final: false };
}

const CALL = { kind: "internal:llm-call", iteration: 1, attempt: 1, model: "m" };

const RESULT = {
  kind: "internal:llm-result",
  iteration: 1,
  finish: "stop",
  content: [{ kind: "text", text: "Hello" }],
  usage: { inputTokens: 10, outputTokens: 2 },
};

const TOOL = { toolCallId: "x", toolName: "search" };

const START = { kind: "internal:tool-start", ...TOOL, input: { q: 1 } };

const COMPLETE = { kind: "internal:tool-complete", ...TOOL, success: true, output: "found" };

const ATTEMPT = { kind: "internal:attempt", attempt: 2, crashes: 1 };

describe("the story", () => {
  test("joins chunks to texts, and begins a new one after something else has happened", () => {
    const items = tellStory(logOf(chunk("a"), chunk("b"), START, COMPLETE, chunk("c")));

    expect(items).toMatchObject([
      { kind: "said", seq: 1, texts: ["a", "b"] },
      { kind: "tool", seq: 3, name: "search", outcome: "done", output: "found", endedAt: 1300 },
      { kind: "said", seq: 5, texts: ["c"] },
    ]);
  });

  test("tells a question once, with its text and how it was answered", () => {
    const message = { kind: "message", messageId: "m", role: "user", parts: [] };
    const asked = { kind: "internal:ask", requests: [] };
    const items = tellStory(
      logOf(asked, status("input-required", "Which one?"), { kind: "internal:message", message }),
    );

    expect(items).toMatchObject([
      { kind: "question", text: "Which one?", answer: "Answered", answeredAt: 1200 },
      { kind: "message" },
    ]);
  });

  test("leaves a tool open that ran when the process ended", () => {
    const items = tellStory(logOf(START, ATTEMPT));

    expect(items).toMatchObject([
      { kind: "tool", outcome: "running" },
      { kind: "attempt", attempt: 2 },
    ]);
  });

  test("reads events of any kind without an error, also those of other vendors", () => {
    const kinds = [
      "message",
      "ask",
      "tool-start",
      "tool-complete",
      "step-end",
      "llm-result",
      "x/y",
    ];
    const fields = fc.dictionary(
      fc.constantFrom("toolCallId", "name", "requests", "approval", "usage", "content", "text"),
      fc.jsonValue(),
    );
    const message = { kind: "message", messageId: "m", role: "user", parts: [] };
    const notes = fc.array(
      fc.tuple(fc.constantFrom(...kinds), fields).map(([kind, rest]) => ({
        ...rest,
        message,
        kind: `internal:${kind}`,
      })),
    );
    fc.assert(
      fc.property(notes, (events) => {
        const log = logOf(...events);
        expect(tellStory(log).length).toBeLessThanOrEqual(log.length);
        expect(buildTimeline(log).length).toBeLessThanOrEqual(log.length);
        findModelCalls(log);
      }),
      { numRuns: 50 },
    );
  });
});

describe("the timeline", () => {
  test("makes one row of a model call with its chunks, and of a tool call from its start to its end", () => {
    const rows = buildTimeline(logOf(CALL, chunk("a"), chunk("b"), RESULT, START, COMPLETE));

    expect(rows).toMatchObject([
      { kind: "model", name: "m", from: 1, to: 4, start: 1000, end: 1300, chunks: 2 },
      { kind: "tool", name: "search", from: 5, to: 6, start: 1400, end: 1500, isFailed: false },
    ]);
  });

  test("marks what had not ended when the process did as failed", () => {
    const rows = buildTimeline(logOf(CALL, START, ATTEMPT));

    expect(rows).toMatchObject([
      { kind: "model", isFailed: true },
      { kind: "tool", isFailed: true },
      { kind: "attempt", name: "Attempt 2" },
    ]);
  });

  test("has the same row for an event whether its chunks are joined or not", () => {
    const single = buildTimeline(logOf(CALL, chunk("a"), chunk("b"), RESULT));
    const [call, first, second, result] = logOf(CALL, chunk("a"), chunk("b"), RESULT);
    const joined = buildTimeline([call!, { ...second!, from: first!.seq }, result!]);

    expect(joined).toEqual(single);
  });
});

describe("the scale of the timeline", () => {
  test("keeps the order of times, and draws long idle times short", () => {
    const scale = timeScale([0, 1000, 2000, 86_400_000, 86_401_000]);

    expect(scale.idle).toMatchObject([{ ms: 86_398_000 }]);
    expect(scale.place(1000)).toBeGreaterThan(0.2);
    expect(scale.place(86_401_000)).toBe(1);
  });

  test("is monotonous for any times", () => {
    const times = fc.array(fc.integer({ min: 0, max: 1e9 }), { minLength: 2 });
    fc.assert(
      fc.property(times, (given) => {
        const scale = timeScale(given);
        const places = given.toSorted((a, b) => a - b).map((time) => scale.place(time));
        expect(places).toEqual(places.toSorted((a, b) => a - b));
        expect(places.every((place) => place >= 0 && place <= 1)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });
});

describe("model calls", () => {
  test("have their usage, the time of their first chunk, and the reason of a retry", () => {
    const retry = { kind: "internal:llm-retry", attempt: 1, problem: "overloaded", waitMs: 5 };
    const again = { ...CALL, attempt: 2 };
    const calls = findModelCalls(logOf(CALL, retry, again, chunk("Hello"), RESULT));

    expect(calls).toMatchObject([
      { outcome: "failed", problem: "overloaded", attempt: 1 },
      { outcome: "answered", attempt: 2, firstMs: 100, durationMs: 200, said: "Hello" },
    ]);
    expect(total(calls, "inputTokens")).toBe(10);
    expect(total(calls, "costUsd")).toBeUndefined();
  });
});
