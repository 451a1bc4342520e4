import { BEGINS_AGAIN } from "@convoke/client";
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { type A2APart, EXTENSIONS, type PublicEvent, type TaskState } from "@convoke/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { TaskUpdates } from "./task-updates.ts";

const CODER = EXTENSIONS.coder.uri;
const ACTIVITY = EXTENSIONS.toolActivity.uri;

const newUpdates = () => new TaskUpdates({ cwd: "/work", isCoder: true, isReplay: false });

function statusUpdate(state: TaskState, parts: readonly A2APart[], kind: string): PublicEvent {
  const message = { kind: "message", role: "agent", messageId: "m", parts } as const;
  return {
    kind: "status-update",
    taskId: "t",
    contextId: "c",
    status: { state, message },
    final: false,
    metadata: { [CODER]: { kind } },
  };
}

const state = fc.constantFrom<TaskState>("working", "working", "input-required", "completed");

/** What a part reports: well-formed calls mostly, and now and then anything at all. */
const part = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .record({
        callId: fc.constantFrom("1", "2", "3"),
        name: fc.string(),
        status: fc.constantFrom("PENDING", "EXECUTING", "SUCCEEDED", "FAILED", "CANCELLED"),
        input: fc.jsonValue(),
      })
      .map((data) => marked(CODER, "tool-call", data)),
  },
  {
    weight: 4,
    arbitrary: fc
      .record({ toolUseId: fc.constantFrom("1", "2"), name: fc.string(), result: fc.jsonValue() })
      .map((data) => marked(ACTIVITY, "tool-result", data)),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom("tool-call", "plan", "thought", "citation", "usage"), fc.jsonValue())
      .map(([type, data]) => marked(CODER, type, data)),
  },
);

function marked(uri: string, type: string, data: unknown): A2APart {
  return { kind: "data", data, metadata: { [uri]: { type } } };
}

const output = fc
  .tuple(fc.constantFrom("1", "2", "4"), fc.string(), fc.boolean())
  .map(([callId, text, append]): PublicEvent => ({
    kind: "artifact-update",
    taskId: "t",
    contextId: "c",
    artifact: { artifactId: `tool-${callId}-output`, parts: [{ kind: "text", text }] },
    append,
  }));

const snapshot = fc.tuple(state, fc.array(part)).map(([of, parts]): PublicEvent => ({
  kind: "task",
  id: "t",
  contextId: "c",
  status: { state: of },
  history: [{ kind: "message", role: "agent", messageId: "h", parts }],
}));

const event = fc.oneof(
  fc.tuple(state, fc.array(part)).map(([of, parts]) => statusUpdate(of, parts, "tool-call")),
  output,
  snapshot,
);

test("in any order of events, a tool call is announced once, then updated, and never changes after its end", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 30 }), (events) => {
      const updates = newUpdates();
      const ended = new Map<string, boolean>();
      for (const update of events.flatMap((one) => [...updates.next(one)])) {
        if (update.sessionUpdate !== "tool_call" && update.sessionUpdate !== "tool_call_update") {
          continue;
        }
        const { toolCallId, status, sessionUpdate } = update;
        expect(ended.has(toolCallId)).toBe(sessionUpdate === "tool_call_update");
        expect(ended.get(toolCallId) ?? false).toBe(false);
        ended.set(toolCallId, status === "completed" || status === "failed");
      }
    }),
  );
});

test("a text in any chunks, with snapshots in between, is shown exactly once", () => {
  const steps = fc.array(fc.record({ text: fc.string(), isRepeated: fc.boolean() }));
  fc.assert(
    fc.property(steps, (chunks) => {
      const updates = newUpdates();
      let text = "";
      const shown = chunks.flatMap(({ text: chunk, isRepeated }) => {
        text += chunk;
        const parts = [{ kind: "text", text } as const];
        const history = [{ kind: "message", role: "agent", messageId: "m", parts } as const];
        const status = { state: "working" } as const;
        const delta = statusUpdate("working", [{ kind: "text", text: chunk }], "text");
        const whole = { kind: "task", id: "t", contextId: "c", status, history } as const;
        return [...updates.next(delta), ...(isRepeated ? updates.next(whole) : [])];
      });
      expect(shown.map(textOf).join("")).toBe(text);
    }),
  );
});

test("an artifact that begins again is another message, which says so", () => {
  const updates = newUpdates();
  const [first, again, more] = [
    ["one ", false],
    ["two ", false],
    ["three", true],
  ].map(([text, append]): PublicEvent => ({
    kind: "artifact-update",
    taskId: "t",
    contextId: "c",
    artifact: { artifactId: "a", parts: [{ kind: "text", text: String(text) }] },
    append: append === true,
  }));

  const shown = [first!, again!, more!].flatMap((event) => [...updates.next(event)]);

  expect(shown.map(textOf)).toEqual(["one ", `\n\n${BEGINS_AGAIN}\n\ntwo `, "three"]);
  expect(shown).toMatchObject([{ messageId: "a" }, { messageId: "a-2" }, { messageId: "a-2" }]);
});

function textOf(update: SessionUpdate): string {
  return "content" in update && "text" in (update.content as object)
    ? (update.content as { readonly text: string }).text
    : "";
}
