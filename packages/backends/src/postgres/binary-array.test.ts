import { expect, onTestFinished, test } from "vitest";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { toArray } from "./binary-array.ts";
import { Connection, toAddress } from "./connection.ts";

const address = needsPostgres();

test.each([
  ["bool", [true, null, false]],
  ["int2", [0, -32_768, 32_767, null]],
  ["int4", [0, -(2 ** 31), 2 ** 31 - 1, null]],
  [
    "int8",
    [0, -1, -(2 ** 32), 2 ** 32 - 1, null, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ],
  ["text", ["", "NULL", null, '{"a":"\\n\\""}', "\n\t'", "ß 😀"]],
  ["uuid", ["0123456789abcdef0123456789abcdef", null]],
  ["text", []],
] as const)("Postgres reads an array of %s as it was: %j", async (type, values) => {
  const connection = new Connection(toAddress(await address()));
  onTestFinished(() => connection.close());

  const rows = await connection.rows(`SELECT unnest($1::${type}[])`, [toArray(type, values)]);

  const read = rows.map(([value]) =>
    type === "uuid" && typeof value === "string" ? value.replaceAll("-", "") : value,
  );
  expect(read).toEqual(values);
});

test.each([1.5, NaN, Infinity, 2 ** 53])(
  "what is not an integer of 8 bytes is refused: %d",
  (value) => {
    expect(() => toArray("int8", [value])).toThrow(RangeError);
  },
);
