import { describe, expect, test } from "vitest";
import { type AgentExtension, checkAgentExtensions } from "./agent-extension.ts";

test("extensions by URLs, by other URIs, and with all that a card says of them are taken", () => {
  checkAgentExtensions([]);
  checkAgentExtensions([
    { uri: "https://example.com/ext/v1" },
    { uri: "https://example.com/ext/v2", description: "The next one.", required: true },
    { uri: "urn:example:ext:1", required: false, params: { limits: [1, 2], name: "x" } },
  ]);
});

describe("what cannot be declared is refused, with the place and the fix", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;

  test.each<[unknown, string]>([
    ["https://x/", "extensions must be a list"],
    [[null], "extensions[0] must be an object"],
    [["https://x/"], "extensions[0] must be an object"],
    [[{}], "extensions[0].uri must be an absolute URI such as https://…/v1, not undefined"],
    [[{ uri: "" }], 'extensions[0].uri must be an absolute URI such as https://…/v1, not ""'],
    [[{ uri: "/ext/v1" }], "extensions[0].uri must be an absolute URI"],
    [[{ uri: "example.com/ext" }], "extensions[0].uri must be an absolute URI"],
    [[{ uri: "https:" }], "extensions[0].uri must be an absolute URI"],
    [[{ uri: "https://x/a b" }], "extensions[0].uri must be an absolute URI"],
    [[{ uri: "https://x/\r\nEvil: 1" }], "extensions[0].uri must be an absolute URI"],
    [[{ uri: "https://x/ü" }], "extensions[0].uri must be an absolute URI"],
    [[{ uri: "https://x/a,b" }], "extensions[0].uri must not have a comma"],
    [[{ uri: `https://x/${"y".repeat(1024)}` }], "must not be longer than 1024 characters"],
    [
      [{ uri: "urn:x:1" }, { uri: "urn:x:2" }, { uri: "urn:x:1" }],
      "extensions[2].uri repeats that of extensions[0]: urn:x:1",
    ],
    [[{ uri: "urn:x:1", description: 1 }], "extensions[0].description must be a text"],
    [[{ uri: "urn:x:1", required: "yes" }], "extensions[0].required must be true or false"],
    [[{ uri: "urn:x:1", params: [] }], "extensions[0].params must be an object"],
    [[{ uri: "urn:x:1", params: { at: new Date() } }], "extensions[0].params must be JSON"],
    [[{ uri: "urn:x:1", params: cyclic }], "extensions[0].params must be JSON"],
  ])("%j: %s", (extensions, problem) => {
    expect(() => checkAgentExtensions(extensions as AgentExtension[])).toThrow(TypeError);
    expect(() => checkAgentExtensions(extensions as AgentExtension[])).toThrow(problem);
  });
});
