import { describe, expect, test } from "vitest";
import type { Model, ModelEvent, ModelRequest } from "../model/model.ts";
import { scriptedModel } from "./scripted-model.ts";

const REQUEST: ModelRequest = {
  transcript: [{ role: "user", parts: [{ kind: "text", text: "hello" }] }],
  tools: [],
};

describe("a scripted model", () => {
  test("plays one turn for each request, and records its requests", async () => {
    const model = scriptedModel([
      [
        { kind: "reasoning", text: "Hm.", signature: "s" },
        { kind: "tool-call", toolName: "a", input: {} },
        { kind: "tool-call", toolName: "b", input: '{"broken' },
      ],
      ({ transcript }) => `You said ${transcript.length} things.`,
      { kind: "tool-call", toolName: "a", input: { more: true } },
    ]);

    expect(await answerOf(model)).toEqual([
      { kind: "reasoning", text: "Hm." },
      { kind: "reasoning-end", provider: { script: { signature: "s" } } },
      { kind: "tool-input", toolCallId: "call_1", toolName: "a", delta: "{}" },
      { kind: "tool-call", toolCallId: "call_1", toolName: "a", input: "{}" },
      { kind: "tool-input", toolCallId: "call_2", toolName: "b", delta: '{"broken' },
      { kind: "tool-call", toolCallId: "call_2", toolName: "b", input: '{"broken' },
      { kind: "finish", reason: "tool-calls", usage: { inputTokens: 10, outputTokens: 2 } },
    ]);
    expect(await answerOf(model)).toMatchObject([
      { text: "You " },
      { text: "said " },
      { text: "1 " },
      { text: "things." },
      { kind: "finish", reason: "stop" },
    ]);
    expect((await answerOf(model)).at(-2)).toMatchObject({ toolCallId: "call_3" });
    expect(model.requests).toEqual([REQUEST, REQUEST, REQUEST]);
    expect(model.leftEarly).toBe(0);
  });

  test("throws at the end of the script", async () => {
    await expect(answerOf(scriptedModel([]))).rejects.toThrow(
      "the script has 0 turns, and the model was asked for turn 1",
    );
  });

  test("counts the answers that were abandoned before their end", async () => {
    const model = scriptedModel([
      [{ kind: "text", text: "one two" }, { kind: "silence" }],
      [{ kind: "delay", ms: 60_000 }],
      { kind: "error", status: 500 },
    ]);
    for await (const event of model.stream(REQUEST, new AbortController().signal)) {
      if (event.kind === "text") break;
    }
    await expect(answerOf(model, AbortSignal.timeout(5))).rejects.toThrow("timeout");
    await expect(answerOf(model)).rejects.toThrow("the script says 500");

    expect(model.leftEarly).toBe(2);
  });

  test.each([
    [
      { kind: "error", status: 429, retryAfterSeconds: 3 },
      { kind: "overloaded", retryAfterMs: 3_000 },
    ],
    [{ kind: "error", status: 400, code: "context_length_exceeded" }, { kind: "too-long" }],
    [{ kind: "cut" }, { kind: "unreachable" }],
    [{ kind: "unfinished" }, { kind: "unreachable" }],
    [{ kind: "malformed" }, { kind: "unreadable" }],
  ] as const)("fails like %j", async (step, expected) => {
    await expect(answerOf(scriptedModel([step]))).rejects.toMatchObject(expected);
  });
});

async function answerOf(
  model: Model,
  signal = new AbortController().signal,
): Promise<readonly ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of model.stream(REQUEST, signal)) events.push(event);
  return events;
}
