import { expect, test } from "vitest";
import fc from "fast-check";
import { verifies } from "../../../../../test/verifies.ts";
import { jsonValues, modelOf, overTheWire } from "../../testing/arbitraries.suite.ts";
import { decodePart, encodePart, isSameIn03 } from "./message.ts";

verifies(["R28"], "a 0.3 part arrives as it was sent", () => {
  fc.assert(
    fc.property(modelOf("0.3").part, (part) => {
      expect(decodePart(overTheWire(encodePart(part)) as object, "part")).toStrictEqual(part);
    }),
  );
});

test("any JSON value can be sent as data, wrapped because 0.3 allows only objects", () => {
  fc.assert(
    fc.property(jsonValues, (data) => {
      const arrived = decodePart(overTheWire(encodePart({ kind: "data", data })) as object, "part");

      expect(arrived).toStrictEqual({ kind: "data", data });
    }),
  );
});

test("the official SDKs understand the wrapping", () => {
  const metadata = { source: "sensor" };

  expect(encodePart({ kind: "data", data: 21.5, metadata })).toEqual({
    kind: "data",
    data: { value: 21.5 },
    metadata: { source: "sensor", data_part_compat: true },
  });
});

test("data that only looks wrapped keeps its content", () => {
  const part = { kind: "data", data: { a: 1 }, metadata: { data_part_compat: true } };

  expect(decodePart(part, "part")).toEqual(part);
});

test("what 1.0 added to text and data is omitted, and nothing else", () => {
  const added = { mediaType: "text/markdown", filename: "notes.md" };
  const metadata = { lang: "en" };

  expect(encodePart({ kind: "text", text: "hi", metadata, ...added })).toEqual({
    kind: "text",
    text: "hi",
    metadata,
  });
  expect(encodePart({ kind: "data", data: { a: 1 }, ...added })).toEqual({
    kind: "data",
    data: { a: 1 },
  });
});

test("a part is rewritten exactly if 0.3 represents it differently", () => {
  fc.assert(
    fc.property(modelOf("1.0").part, (part) => {
      expect(isSameIn03(part)).toBe(JSON.stringify(encodePart(part)) === JSON.stringify(part));
    }),
  );
});
