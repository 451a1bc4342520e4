import {
  type ArtifactUpdateEvent,
  type StatusUpdateEvent,
  textOf,
  textOfParts,
  textPart,
} from "@convoke/protocol";
import type { Model, ModelRequest } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { LoopWorld } from "./a-loop-world.ts";
import { calls, echoTool, statusText, told } from "./scripts.ts";

/** The texts of the answer as clients receive them, with a `+` before those that are appended. */
async function writtenTo(world: LoopWorld, taskId: string): Promise<readonly string[]> {
  const updates = (await world.events(taskId)).filter(
    (event): event is ArtifactUpdateEvent => event.kind === "artifact-update",
  );
  return updates
    .map(({ append, artifact }) => `${append === true ? "+" : ""}${textOfParts(artifact.parts)}`)
    .filter((text) => text !== "+");
}

describe("a crash in the middle of an answer of the model", () => {
  test.each([
    ["uses the same words", "one two three", ["+three"]],
    ["uses other words", "one red", ["one red"]],
    ["says less", "one ", ["one "]],
    ["says nothing", [calls("echo", { text: "a" })], [""]],
  ])("is followed by what is new if the next answer %s", async (_, second, written) => {
    const model = scriptedModel([
      [{ kind: "text", text: "one two " }, { kind: "silence" }],
      second,
      { kind: "finish" },
    ]);
    const world = new LoopWorld({ model, tools: [echoTool()] });
    const taskId = await world.tell("go");
    await expect.poll(() => writtenTo(world, taskId)).toEqual(["one two "]);

    await world.restart();

    const task = await world.settled(taskId);
    expect(task.status.state).toBe("completed");
    expect((await writtenTo(world, taskId)).slice(1)).toEqual(written);
  });
});

describe("a transient error of the model", () => {
  test("is retried visibly, and partial output is not repeated", async () => {
    const model = scriptedModel([
      [{ kind: "text", text: "I look." }, calls("echo", { text: "a" })],
      [{ kind: "text", text: "The answer is forty" }, { kind: "cut" }],
      { kind: "error", status: 503 },
      "The answer is 42.",
    ]);
    const world = new LoopWorld({ model, tools: [echoTool()] });

    const task = await world.ask("go");

    expect(textOf(task)).toBe("I look.\n\nThe answer is 42.");
    expect(task.artifacts).toHaveLength(1);
    const attempts = await world.notes(task.id, "internal:llm-call");
    expect(attempts.map(({ iteration, attempt }) => [iteration, attempt])).toEqual([
      [1, 1],
      [2, 1],
      [2, 2],
      [2, 3],
    ]);
    const retries = await world.notes(task.id, "internal:llm-retry");
    expect(retries).toHaveLength(2);
    for (const { waitMs } of retries) expect(waitMs).toBeGreaterThan(0);
    const reopened = (await world.events(task.id)).filter(
      (event) =>
        event.kind === "artifact-update" && (event as ArtifactUpdateEvent).append === false,
    );
    expect(reopened.map((event) => (event as ArtifactUpdateEvent).artifact.parts)).toEqual([
      [textPart("I look.")],
      [textPart("I look.\n\nThe answer is 42.")],
    ]);
  });

  test.each([
    ["uses the same words", "one two three", ["+three"]],
    ["uses other words", "one red", ["one red"]],
    ["says less", "one ", ["one "]],
  ])("is followed by what is new if the next answer %s", async (_, second, written) => {
    const model = scriptedModel([[{ kind: "text", text: "one two " }, { kind: "cut" }], second]);
    const world = new LoopWorld({ model });

    const task = await world.ask("go");

    expect(textOf(task)).toBe(second);
    expect((await writtenTo(world, task.id)).slice(1)).toEqual(written);
  });

  test("that persists is given up after the allowed attempts, with a safe text", async () => {
    const model = scriptedModel(
      Array.from({ length: 9 }, () => ({ kind: "error", status: 529 }) as const),
    );
    const world = new LoopWorld({ model, retry: { attempts: 2 } });

    const task = await world.ask("go");

    expect(model.requests).toHaveLength(2);
    expect(task.status.state).toBe("failed");
    const last = (await world.events(task.id)).at(-1) as StatusUpdateEvent;
    expect(last.metadata).toMatchObject({ reason: "model", kind: "overloaded" });
    expect(last.metadata?.["error"]).toBe(statusText(task));
  });

  test("with a retry time is respected, and given up if that is too late", async () => {
    const model = scriptedModel([{ kind: "error", status: 429, retryAfterSeconds: 3600 }, "never"]);
    const world = new LoopWorld({ model });

    expect((await world.ask("go")).status.state).toBe("failed");
    expect(model.requests).toHaveLength(1);
  });
});

test("a permanent error is not retried", async () => {
  const model = scriptedModel([{ kind: "error", status: 401 }, "never"]);
  const world = new LoopWorld({ model });

  expect((await world.ask("go")).status.state).toBe("failed");
  expect(model.requests).toHaveLength(1);
});

test("a model that is not available fails the task with what is missing", async () => {
  const world = new LoopWorld({
    model: "anthropic:claude-sonnet-4-5",
    modelOptions: { environment: {} },
  });

  const task = await world.ask("go");

  expect(task.status.state).toBe("failed");
  expect(statusText(task)).toContain("needs a key; set ANTHROPIC_API_KEY");
});

describe("a transcript that is too long", () => {
  /** Accepts a number of entries, and rejects more. */
  function shortSighted(
    entries: number,
    contextTokens?: number,
  ): Model & { requests: ModelRequest[] } {
    const requests: ModelRequest[] = [];
    const scripted = scriptedModel(
      Array.from({ length: 30 }, () => (request: ModelRequest) => {
        requests.push(request);
        if (request.transcript.length > entries) {
          return { kind: "error", status: 400, code: "context_length_exceeded" } as const;
        }
        const rounds = requests.filter(({ transcript }) => transcript.length <= entries).length;
        return rounds < 5 ? calls("echo", { text: `${rounds} ${"x".repeat(400)}` }) : "Done.";
      }),
      contextTokens === undefined ? {} : { contextTokens },
    );
    return Object.assign(scripted, { requests }) as never;
  }

  test("is trimmed from its oldest entries when the provider rejects it, in complete pairs", async () => {
    const model = shortSighted(5);
    const world = new LoopWorld({ model, tools: [echoTool()] });

    const task = await world.ask("the subject");

    expect(textOf(task)).toBe("Done.");
    expect((await world.notes(task.id, "internal:trimmed")).length).toBeGreaterThan(0);
    for (const { transcript } of model.requests) expectWholePairs(transcript);
    expect(told(model.requests.at(-1)!.transcript)[0]).toContain("the subject");
  });

  test("is trimmed before it is sent if the model's limit is known", async () => {
    const model = shortSighted(100, 800);
    const world = new LoopWorld({ model, tools: [echoTool()] });

    const task = await world.ask("the subject");

    expect(textOf(task)).toBe("Done.");
    expect(await world.notes(task.id, "internal:trimmed")).not.toEqual([]);
    expect(await world.notes(task.id, "internal:llm-retry")).toEqual([]);
    const last = model.requests.at(-1)!.transcript;
    expect(last.length).toBeLessThan(9);
    expect(told(last)[0]).toContain("the subject");
    expectWholePairs(last);
  });
});

/** Each call has its result right after it, and no result is without its call. */
function expectWholePairs(transcript: ModelRequest["transcript"]): void {
  for (const [place, entry] of transcript.entries()) {
    if (entry.role === "tool") expect(transcript[place - 1]?.role).toBe("assistant");
    const isCall =
      entry.role === "assistant" && entry.content.some(({ kind }) => kind === "tool-call");
    if (isCall) expect(transcript[place + 1]?.role).toBe("tool");
  }
}
