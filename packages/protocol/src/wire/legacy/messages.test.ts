import { expect, test } from "vitest";
import { CODECS, PROTO_CODECS } from "../codecs.ts";
import { verifies } from "../../../../../test/verifies.ts";

const ids = { taskId: "t1", contextId: "c1" };

test.each([
  ["a task", { id: "t1", contextId: "c1", status: { state: "started" } }, "task"],
  ["a status", { ...ids, status: { state: "working" } }, "status-update"],
  ["an artifact", { ...ids, artifact: { artifactId: "a", parts: [] } }, "artifact-update"],
  ["a message", { messageId: "m", role: "agent", parts: [{ kind: "text", text: "x" }] }, "message"],
])("%s without its kind is recognized by its fields", (_, value, kind) => {
  for (const codec of [CODECS["0.3"], PROTO_CODECS["0.3"]]) {
    expect(codec.decodeEvent(value).kind).toBe(kind);
  }
});

test("what cannot be recognized is not an event", () => {
  for (const value of [{}, null, "task", { id: "t1" }, { status: {} }]) {
    expect(() => CODECS["0.3"].decodeEvent(value)).toThrow("the event has no known kind");
    expect(() => PROTO_CODECS["0.3"].decodeEvent(value)).toThrow("the event has no known member");
  }
});

verifies("seed-C6", "parts that arrive one by one form the artifact with their index", () => {
  const update = { ...ids, kind: "artifact-update", index: 2, part: { kind: "text", text: "x" } };

  expect(CODECS["0.3"].decodeEvent(update)).toEqual({
    kind: "artifact-update",
    ...ids,
    append: true,
    artifact: { artifactId: "artifact-2", parts: [{ kind: "text", text: "x" }] },
  });
});

verifies(
  "seed-C5",
  "a message of an assistant is one of the agent, whatever field has its text",
  () => {
    const text = [{ kind: "text", text: "hi" }];
    for (const message of [
      { role: "assistant", content: "hi" },
      { role: "assistant", content: text },
      { role: "assistant", parts: text },
    ]) {
      const status = { state: "working", message };
      expect(
        CODECS["0.3"].decodeTask({ id: "t1", contextId: "c1", status }).status.message,
      ).toEqual({
        kind: "message",
        messageId: "unnamed",
        role: "agent",
        parts: text,
      });
    }
  },
);

test("a status may have a message without text", () => {
  const said = (role: string) => ({ messageId: "m", role });
  const task = (state: string, message: object) => ({ id: "t1", status: { state, message } });

  for (const decoded of [
    CODECS["0.3"].decodeTask(task("working", { ...said("agent"), parts: [] })),
    PROTO_CODECS["0.3"].decodeTask(task("TASK_STATE_WORKING", said("ROLE_AGENT"))),
    CODECS["1.0"].decodeTask(task("TASK_STATE_WORKING", said("ROLE_AGENT"))),
  ]) {
    expect(decoded.status).toEqual({
      state: "working",
      message: { kind: "message", messageId: "m", role: "agent", parts: [] },
    });
  }
});

test.each(["cancelled", "canceled", "TASK_STATE_CANCELLED", "TASK_STATE_CANCELED", 5])(
  "%s is canceled, in a 1.0 response too",
  (state) => {
    expect(CODECS["1.0"].decodeTask({ id: "t1", status: { state } }).status.state).toBe("canceled");
  },
);
