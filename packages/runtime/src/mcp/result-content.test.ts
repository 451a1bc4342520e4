import type { CallToolResult } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import type { ToolContext, ToolEvent } from "../tools/tool.ts";
import { resultEvents } from "./result-content.ts";

const CONTEXT: ToolContext = {
  taskId: "task",
  contextId: "context",
  toolCallId: "call",
  key: "task:call",
  signal: new AbortController().signal,
  stopped: new AbortController().signal,
  caller: { owner: "somebody" },
  trace: {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  },
  answers: new Map(),
  credentials: new Map(),
};

function read(result: CallToolResult, limit = 1000): { events: ToolEvent[]; end: ToolEvent } {
  const stream = resultEvents(result, CONTEXT, limit);
  const events: ToolEvent[] = [];
  for (;;) {
    const { done, value } = stream.next();
    if (done === true) return { events, end: value };
    events.push(value);
  }
}

test("structured content is the result, and additional text is kept", () => {
  const structuredContent = { sum: 3 };
  const withText = (text: string): CallToolResult => ({
    content: [{ type: "text", text }],
    structuredContent,
  });

  expect(read(withText('{ "sum": 3 }')).end).toEqual({ kind: "tool:result", value: { sum: 3 } });
  expect(read(withText("It is three.")).end).toEqual({
    kind: "tool:result",
    value: { text: "It is three.", structuredContent },
  });
});

test("audio and embedded files are files of the result, named by their artifacts", () => {
  const { events, end } = read({
    content: [
      { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      {
        type: "resource",
        resource: { uri: "file:///a.zip", blob: "BBBB", mimeType: "application/zip" },
      },
    ],
  });

  expect(events).toMatchObject([
    { kind: "tool:file", file: { mimeType: "audio/wav", bytes: "AAAA" } },
    { kind: "tool:source", url: "file:///a.zip" },
    { kind: "tool:file", file: { bytes: "BBBB" } },
  ]);
  expect(end).toMatchObject({ value: expect.stringContaining("artifact call-file-2") as string });
});

test("files beyond the limit are omitted, with a note", () => {
  const image = { type: "image", data: "x".repeat(600), mimeType: "image/png" } as const;

  const { events, end } = read({ content: [image, image] });

  expect(events).toHaveLength(1);
  expect(end).toMatchObject({
    value: expect.stringContaining("was left out: the result is longer than 1000") as string,
  });
});

test("an error without text is still one", () => {
  expect(read({ content: [], isError: true }).end).toEqual({
    kind: "tool:error",
    text: "it does not say why",
  });
});

test("URLs that run code are not sources", () => {
  const { events } = read({
    content: [{ type: "resource_link", uri: "javascript:alert(1)", name: "click me" }],
  });

  expect(events).toEqual([]);
});
