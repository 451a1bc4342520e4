import {
  type A2APart,
  type AgentInfo,
  type Message,
  type Task,
  agentMessage,
} from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { checkMediaTypes, withoutData } from "./media-types.ts";

const TEXT: A2APart = { kind: "text", text: "hello" };
const DATA: A2APart = { kind: "data", data: { a: 1 } };
const IMAGE: A2APart = {
  kind: "file",
  file: { uri: "https://x.test/a.png", mimeType: "image/png" },
};
const NOTES: A2APart = {
  kind: "file",
  file: { uri: "https://x.test/a.txt", mimeType: "text/plain" },
};
const PARTS = { TEXT, DATA, IMAGE, NOTES };

/** The parts that an agent with these modes accepts. */
function taken(inputModes: readonly string[]): readonly string[] {
  const info = { inputModes, skills: [] } as unknown as AgentInfo;
  return Object.entries(PARTS).flatMap(([name, part]) => {
    const message = { parts: [part] } as unknown as Message;
    try {
      checkMediaTypes(message, info);
      return [name];
    } catch {
      return [];
    }
  });
}

describe("an agent accepts", () => {
  test.each([
    [["text"], ["TEXT", "NOTES"]],
    [["data"], ["DATA"]],
    [["file"], ["IMAGE", "NOTES"]],
    [
      ["text", "file"],
      ["TEXT", "IMAGE", "NOTES"],
    ],
    [["anything"], ["TEXT", "DATA", "IMAGE", "NOTES"]],
    [["text/plain"], ["TEXT", "NOTES"]],
    [["image/*"], ["IMAGE"]],
    [[], []],
  ])("with the modes %j the parts %j", (modes, parts) => {
    expect(taken(modes)).toEqual(parts);
  });
});

test("data is converted to text for a caller that accepts text, and not for one that accepts data", () => {
  const message = { ...agentMessage("m", ""), parts: [DATA] };
  const task = { kind: "task", id: "t", contextId: "c", status: { state: "completed", message } };

  const converted = withoutData(["text"])?.(task as Task) as Task;
  expect(converted.status.message?.parts).toEqual([{ kind: "text", text: '{"a":1}' }]);
  for (const modes of [["data"], ["text", "data"], ["anything"]]) {
    expect(withoutData(modes)).toBeUndefined();
  }
});
