import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PROTO_SOURCES, generateTables, tablesFile } from "../../scripts/proto-tables.ts";

test.each(PROTO_SOURCES)("$tables is generated from $proto", (source) => {
  // If this fails, run `npm run proto`.
  expect(readFileSync(tablesFile(source), "utf8")).toBe(generateTables(source));
});
