import { Observable, concat, from, of, throwError } from "rxjs";
import { expect, test } from "vitest";
import { tool } from "../tools/tool.ts";
import { runTool } from "./run-tool.ts";
import type { ToolOutcome } from "../run/tape.ts";

/** Runs a tool that returns the Observable; `room` is the buffer of its reader. */
function outcomeOf(
  source: Observable<unknown>,
  options: { readonly signal?: AbortSignal; readonly room?: () => Promise<void> | undefined } = {},
): Promise<ToolOutcome> {
  const { signal = new AbortController().signal, room = () => undefined } = options;
  const it = tool({ name: "it", description: "Streams.", timeoutMs: 50, run: () => source });
  return runTool(it, {
    call: { toolCallId: "c1", digest: "", isGuarded: false },
    decisions: [],
    input: {},
    context: {
      taskId: "t1",
      contextId: "x1",
      toolCallId: "c1",
      key: "k",
      caller: { owner: "ann" },
      trace: {
        traceId: "0af7651916cd43dd8448eb211c80319c",
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      },
      answers: new Map(),
      credentials: new Map(),
    },
    signal,
    outputLimit: 1000,
    sink: { take: () => undefined, room },
  });
}

test("the output of an Observable, or its last value, is the result of the tool", async () => {
  expect(await outcomeOf(from(["a", "b"]))).toEqual({ kind: "result", value: "ab" });
  expect(await outcomeOf(from([{ n: 1 }, { n: 2 }]))).toEqual({ kind: "result", value: { n: 2 } });
  const result = { kind: "tool:result", value: 7 };
  expect(await outcomeOf(of("a", result, "b"))).toEqual({ kind: "result", value: 7 });
});

test("an Observable that fails is a tool error, whatever it emitted before", async () => {
  const failing = concat(
    of("some output"),
    throwError(() => new Error("broken")),
  );

  expect(await outcomeOf(failing)).toMatchObject({ kind: "error", text: "Tool it failed: broken" });
});

test("an Observable that never ends is unsubscribed at its timeout", async () => {
  let isLeft = false;
  const silent = new Observable(() => () => {
    isLeft = true;
  });

  expect(await outcomeOf(silent)).toMatchObject({ kind: "error" });
  expect(isLeft).toBe(true);
});

test("an Observable is unsubscribed immediately when the task ends", async () => {
  const abort = new AbortController();
  let isLeft = false;
  const silent = new Observable(() => () => {
    isLeft = true;
  });
  const outcome = outcomeOf(silent, { signal: abort.signal });

  abort.abort(new Error("canceled"));

  expect(isLeft).toBe(true);
  await expect(outcome).rejects.toThrow("canceled");
});

test("an Observable that floods its reader is stopped, although it never pauses", async () => {
  const endless = from({
    *[Symbol.iterator]() {
      for (;;) yield { kind: "tool:source", url: "https://example.com/" };
    },
  });

  const outcome = await outcomeOf(endless, { room: () => new Promise(() => undefined) });

  expect(outcome).toMatchObject({
    kind: "error",
    text: "Tool it failed: it gave more events than could be taken",
  });
});
