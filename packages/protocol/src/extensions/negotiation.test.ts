import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AgentExtension } from "../model/agent.ts";
import {
  MAX_EXTENSIONS,
  MAX_URI_LENGTH,
  checkAgentExtensions,
  formatExtensionList,
  parseExtensionList,
} from "./negotiation.ts";

const HEADER = "A2A-Extensions";

/** Anything that a header can have between its commas, without white space at the ends. */
const uri = fc
  .stringMatching(/^[\x21-\x2b\x2d-\x7e]{1,40}$/)
  .map((text) => text.slice(0, MAX_URI_LENGTH));
const uris = fc.uniqueArray(uri, { maxLength: MAX_EXTENSIONS });
const space = fc.stringMatching(/^[ \t]{0,3}$/);

test("a list is parsed regardless of white space and empty elements", () => {
  fc.assert(
    fc.property(uris, fc.array(fc.tuple(space, space, fc.boolean())), (given, frills) => {
      const dressed = given.map((one, place) => {
        const [before, after, isGap] = frills[place] ?? ["", "", false];
        return `${before}${one}${after}${isGap ? ", ,," : ""}`;
      });

      expect(parseExtensionList(HEADER, [dressed.join(",")])).toEqual(given);
      expect(parseExtensionList(HEADER, dressed)).toEqual(given);
    }),
  );
});

test("what we write we can read", () => {
  fc.assert(
    fc.property(uris, (given) => {
      expect(parseExtensionList(HEADER, [formatExtensionList(given)])).toEqual(given);
    }),
  );
});

test("every failure for any value is the error that names the header", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 3000 }), { maxLength: 5 }), (values) => {
      let read: readonly string[];
      try {
        read = parseExtensionList(HEADER, values);
      } catch (error) {
        expect(error).toMatchObject({ reason: "InvalidParams", field: HEADER });
        return;
      }

      expect(new Set(read).size).toBe(read.length);
      expect(read.length).toBeLessThanOrEqual(MAX_EXTENSIONS);
      for (const one of read) expect(one).toBe(one.trim());
    }),
  );
});

describe("a list that is too long is rejected", () => {
  const many = (count: number): string =>
    Array.from({ length: count }, (_, place) => `urn:extension:${place}`).join(",");

  test("by the number of its extensions, each counted once", () => {
    expect(parseExtensionList(HEADER, [many(MAX_EXTENSIONS), many(3)])).toHaveLength(
      MAX_EXTENSIONS,
    );
    expect(() => parseExtensionList(HEADER, [many(MAX_EXTENSIONS + 1)])).toThrow(
      "A2A-Extensions must not name more than 64 extensions",
    );
  });

  test("by the length of one of them", () => {
    const long = "x".repeat(MAX_URI_LENGTH);

    expect(parseExtensionList(HEADER, [long])).toEqual([long]);
    expect(() => parseExtensionList(HEADER, [`${long}x`])).toThrow(
      "A2A-Extensions must not have a URI of more than 1024 characters",
    );
  });
});

test("extensions with URLs, with other URIs, and with all card fields are accepted", () => {
  checkAgentExtensions([]);
  checkAgentExtensions([
    { uri: "https://example.com/ext/v1" },
    { uri: "https://example.com/ext/v2", description: "The next one.", required: true },
    { uri: "urn:example:ext:1", required: false, params: { limits: [1, 2], name: "x" } },
  ]);
});

describe("an invalid declaration is rejected with the path and the fix", () => {
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
    [[{ uri: "urn:x:1", description: 1 }], "extensions[0].description must be a string"],
    [[{ uri: "urn:x:1", required: "yes" }], "extensions[0].required must be true or false"],
    [[{ uri: "urn:x:1", params: [] }], "extensions[0].params must be an object"],
    [[{ uri: "urn:x:1", params: { at: new Date() } }], "extensions[0].params must be JSON"],
    [[{ uri: "urn:x:1", params: cyclic }], "extensions[0].params must be JSON"],
  ])("%j: %s", (extensions, problem) => {
    expect(() => checkAgentExtensions(extensions as AgentExtension[])).toThrow(TypeError);
    expect(() => checkAgentExtensions(extensions as AgentExtension[])).toThrow(problem);
  });
});
