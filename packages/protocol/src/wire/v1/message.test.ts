import fc from "fast-check";
import { expect, test } from "vitest";
import { verifies } from "../../../../../test/verifies.ts";
import { aMessage, modelOf, overTheWire } from "../../testing/arbitraries.suite.ts";
import { decodeMessage, decodePart, encodeMessage, encodePart } from "./message.ts";

const bare = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hello" }] };

verifies(["R27"], "a role is a name or its number", () => {
  const roleOf = (role: unknown) => decodeMessage({ ...bare, role }, "message").role;

  expect(roleOf("ROLE_USER")).toBe("user");
  expect(roleOf("ROLE_AGENT")).toBe("agent");
  expect(roleOf(1)).toBe("user");
  expect(roleOf(2)).toBe("agent");
});

test("an empty task or context id counts as absent", () => {
  expect(decodeMessage({ ...bare, taskId: "", contextId: "" }, "message")).toStrictEqual(
    aMessage(),
  );
});

test("a kind has no meaning in 1.0 and does not turn a message into a task", () => {
  expect(decodeMessage({ ...bare, kind: "task" }, "message")).toStrictEqual(aMessage());
});

test("a 1.0 message has its role in upper case and no kind", () => {
  expect(encodeMessage(aMessage())).toEqual(bare);
  expect(encodeMessage(aMessage({ role: "agent" })).role).toBe("ROLE_AGENT");
});

verifies(["R28"], "a 1.0 part arrives as it was sent", () => {
  fc.assert(
    fc.property(modelOf("1.0").part, (part) => {
      expect(decodePart(overTheWire(encodePart(part)) as object, "part")).toStrictEqual(part);
    }),
  );
});

test.each([
  ["an empty text", { text: "" }, { kind: "text", text: "" }],
  ["an empty file", { raw: "" }, { kind: "file", file: { bytes: "" } }],
  ["null", { data: null }, { kind: "data", data: null }],
  ["false", { data: false }, { kind: "data", data: false }],
])("%s is content: its presence counts", (_, wire, part) => {
  expect(decodePart(wire, "part")).toStrictEqual(part);
});

test("a file keeps its name and its media type under other field names", () => {
  const named = { filename: "a.png", mediaType: "image/png" };

  expect(decodePart({ url: "https://files.test/a", ...named }, "part")).toEqual({
    kind: "file",
    file: { uri: "https://files.test/a", name: "a.png", mimeType: "image/png" },
  });
});

test("a kind has no meaning in 1.0 and does not change a part", () => {
  expect(decodePart({ kind: "data", text: "hi" }, "part")).toEqual({ kind: "text", text: "hi" });
  expect(decodePart({ kind: "text", data: [1] }, "part")).toEqual({ kind: "data", data: [1] });
  expect(decodePart({ kind: "text", raw: "aGk=" }, "part")).toEqual({
    kind: "file",
    file: { bytes: "aGk=" },
  });
});

test("no 1.0 part has a kind", () => {
  fc.assert(
    fc.property(modelOf("1.0").part, (part) => {
      const contents = Object.keys(encodePart(part)).filter((name) =>
        ["text", "raw", "url", "data", "kind", "file"].includes(name),
      );

      expect(contents).toHaveLength(1);
      expect(["text", "raw", "url", "data"]).toContain(contents[0]);
    }),
  );
});
