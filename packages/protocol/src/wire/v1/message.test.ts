import { expect, test } from "vitest";
import { verifies } from "../../../../../test/verifies.ts";
import { aMessage } from "../../testing/arbitraries.suite.ts";
import { decodeMessage, encodeMessage } from "./message.ts";

const bare = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hello" }] };

verifies(["R27"], "a role is a name or its number", () => {
  const roleOf = (role: unknown) => decodeMessage({ ...bare, role }, "message").role;

  expect(roleOf("ROLE_USER")).toBe("user");
  expect(roleOf("ROLE_AGENT")).toBe("agent");
  expect(roleOf(1)).toBe("user");
  expect(roleOf(2)).toBe("agent");
});

test("an empty task or context id is an id that was not set", () => {
  expect(decodeMessage({ ...bare, taskId: "", contextId: "" }, "message")).toStrictEqual(
    aMessage(),
  );
});

test("a kind has no meaning in 1.0 and does not make a message into a task", () => {
  expect(decodeMessage({ ...bare, kind: "task" }, "message")).toStrictEqual(aMessage());
});

test("a message of 1.0 names its role in capitals and has no kind", () => {
  expect(encodeMessage(aMessage())).toEqual(bare);
  expect(encodeMessage(aMessage({ role: "agent" })).role).toBe("ROLE_AGENT");
});
