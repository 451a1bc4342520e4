import { textPart } from "@convoke/protocol";
import { expect, test } from "vitest";
import type { TranscriptEntry } from "../model/model.ts";
import { trim } from "./trim.ts";

const user = (text: string): TranscriptEntry => ({ role: "user", parts: [textPart(text)] });
const says = (text: string): TranscriptEntry => ({
  role: "assistant",
  content: [{ kind: "text", text }],
});
const call = (id: string): TranscriptEntry => ({
  role: "assistant",
  content: [{ kind: "tool-call", toolCallId: id, toolName: "t", input: "{}" }],
});
const result = (id: string): TranscriptEntry => ({
  role: "tool",
  results: [{ toolCallId: id, toolName: "t", output: "x".repeat(400), isError: false }],
});

const earlier = [user("before"), says("answered")];
const subject = user("the task");
const work = [call("1"), result("1"), call("2"), result("2"), call("3"), result("3")];
const transcript = [...earlier, subject, ...work];
const place = transcript.indexOf(subject);

test("a transcript that fits is not changed", () => {
  const trimmed = trim(transcript, { maxTokens: 10_000, least: 0, subject: place });

  expect(trimmed).toEqual({ entries: transcript, left: 0 });
});

test("the oldest entries are dropped first, a call with its result, and the subject and the newest stay", () => {
  expect(trim(transcript, { maxTokens: 400, least: 0, subject: place })).toEqual({
    entries: [subject, ...work.slice(2)],
    left: 4,
  });
  expect(trim(transcript, { maxTokens: 0, least: 0, subject: place })).toEqual({
    entries: [subject, ...work.slice(4)],
    left: 6,
  });
});

test("entries that were dropped before are dropped again, and no transcript starts with an answer", () => {
  const { entries, left } = trim(transcript, { maxTokens: 10_000, least: 1, subject: place });

  expect(entries).toEqual([subject, ...work]);
  expect(left).toBe(2);
});
