import { describe, expect, test } from "vitest";
import type { TranscriptEntry } from "../../model/model.ts";
import { promptOf, userContentOf } from "./prompt.ts";

const RULES = {
  provider: "openai.responses",
  version: "v4",
  supportedUrls: { "image/*": [/^https:/] },
} as const;

test("an entry that was sent in an earlier turn is not converted again", () => {
  const sent = new WeakMap();
  const call = { kind: "tool-call", toolCallId: "1", toolName: "t", input: '{"a":1}' } as const;
  const first: TranscriptEntry = { role: "assistant", content: [call] };
  const second: TranscriptEntry = {
    role: "tool",
    results: [{ toolCallId: "1", toolName: "t", output: "x", isError: false }],
  };

  const [before] = promptOf({ transcript: [first], tools: [] }, RULES, sent);
  const [again, result] = promptOf({ transcript: [first, second], tools: [] }, RULES, sent);

  expect(again).toBe(before);
  expect(result).toMatchObject({ role: "tool", content: [{ toolCallId: "1" }] });
});

describe("files for a model", () => {
  test("text is shown as text, in a fence that it cannot close", () => {
    const bytes = Buffer.from("a\n```\nb").toString("base64");

    expect(
      userContentOf(fileOf({ name: "a.md", mimeType: "text/markdown", bytes }), RULES),
    ).toEqual([{ type: "text", text: 'The file "a.md" (text/markdown):\n````\na\n```\nb\n````' }]);
  });

  test("the content of a data URL is included too", () => {
    expect(userContentOf(fileOf({ uri: "data:image/png;base64,AQID" }), RULES)).toEqual([
      { type: "file", mediaType: "image/png", data: { type: "data", data: "AQID" } },
    ]);
    expect(userContentOf(fileOf({ uri: "data:text/plain,h%C3%A9" }), RULES)).toEqual([
      { type: "text", text: "A file (text/plain):\n```\nhé\n```" },
    ]);
  });

  test("a URL that the provider reads is passed on", () => {
    const uri = "https://example.com/A.png";

    expect(userContentOf(fileOf({ mimeType: "image/png", uri }), RULES)).toEqual([
      { type: "file", mediaType: "image/png", data: { type: "url", url: new URL(uri) } },
    ]);
    expect(
      userContentOf(fileOf({ mimeType: "image/png", uri }), { ...RULES, version: "v2" }),
    ).toEqual([{ type: "file", mediaType: "image/png", data: new URL(uri) }]);
  });

  test.each([
    ["application/pdf", "https://example.com/a.pdf"],
    ["image/png", "file:///etc/passwd"],
    ["image/png", "no address"],
  ])("any other URL is only named, and never fetched: %s %s", (mimeType, uri) => {
    expect(userContentOf(fileOf({ mimeType, uri }), RULES)).toEqual([
      { type: "text", text: `A file (${mimeType}) is at ${uri}` },
    ]);
  });

  test("a file of unknown type is only mentioned", () => {
    expect(userContentOf(fileOf({ name: "x", bytes: "AQID" }), RULES)).toEqual([
      {
        type: "text",
        text: 'The file "x" came along. Its type is not known, so it cannot be shown to you.',
      },
    ]);
  });
});

test("data has its name and type as a label", () => {
  const part = {
    kind: "data",
    data: [1],
    mediaType: "application/json",
    filename: "n.json",
  } as const;

  expect(userContentOf(part, RULES)).toEqual([
    { type: "text", text: 'Data "n.json" (application/json):\n```json\n[\n  1\n]\n```' },
  ]);
});

test("empty text is omitted", () => {
  expect(userContentOf({ kind: "text", text: " \n" }, RULES)).toEqual([]);
});

function fileOf(file: Readonly<Record<string, string>>) {
  return { kind: "file", file } as const;
}
