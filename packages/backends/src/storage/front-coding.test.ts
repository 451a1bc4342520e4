import fc from "fast-check";
import { expect, test } from "vitest";
import { packLines, unpackLines } from "./front-coding.ts";

/** Lines with common prefixes, as the chunks of an answer have, in any script. */
const lines = fc
  .array(
    fc.record({
      shared: fc.constantFrom("a", "a".repeat(40), `${"b".repeat(40)}😀😁`),
      text: fc.string({ unit: "grapheme" }),
    }),
    { maxLength: 30 },
  )
  .map((records) => records.map((record) => JSON.stringify(record)));

test("packed texts are unpacked unchanged, also through the encoding of the database", () => {
  fc.assert(
    fc.property(lines, (given) => {
      const stored = Buffer.from(packLines(given), "utf8").toString("utf8");

      expect(given.length === 0 ? [] : unpackLines(stored)).toEqual(given);
    }),
  );
});

test("emoji that differ only in their second half are not split", () => {
  const given = ["😀", "😁"].map((text) => JSON.stringify({ shared: "x".repeat(40), text }));

  const stored = Buffer.from(packLines(given), "utf8").toString("utf8");

  expect(unpackLines(stored)).toEqual(given);
});

test("packed texts of neighbouring commits can be joined", () => {
  fc.assert(
    fc.property(lines, lines, (first, second) => {
      fc.pre(first.length > 0 && second.length > 0);

      expect(unpackLines(`${packLines(first)}\n${packLines(second)}`)).toEqual([
        ...first,
        ...second,
      ]);
    }),
  );
});

test("a stream of chunks takes less than half of its space", () => {
  const given = Array.from({ length: 100 }, (_, place) =>
    JSON.stringify({
      kind: "artifact-update",
      taskId: "t".repeat(36),
      contextId: "c".repeat(36),
      text: `${place} `,
    }),
  );

  expect(packLines(given).length).toBeLessThan(given.join("\n").length / 2);
});
