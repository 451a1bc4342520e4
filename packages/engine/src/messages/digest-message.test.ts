import { hash } from "node:crypto";
import type { Message } from "@convoke/protocol";
import { expect, test } from "vitest";
import { digestMessage } from "./digest-message.ts";

test.each([
  ["ASCII", "a".repeat(600_000)],
  ["characters of two code units, at even places", "😀".repeat(300_000)],
  ["characters of two code units, at odd places", `a${"😀".repeat(300_000)}`],
  ["unpaired surrogates", `${"\ud83d".repeat(262_144)}${"\ude00".repeat(262_144)}`],
])("the digest of a long text of %s is that of its JSON", (_, text) => {
  const message: Message = {
    kind: "message",
    role: "user",
    parts: [{ kind: "text", text }],
    messageId: "m1",
  };
  const sorted = `{"kind":"message","messageId":"m1","parts":[{"kind":"text","text":${JSON.stringify(text)}}],"role":"user"}`;

  expect(digestMessage(message)).toBe(hash("sha256", sorted, "base64url"));
});
