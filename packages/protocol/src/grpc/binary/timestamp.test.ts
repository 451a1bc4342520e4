import { expect, test } from "vitest";
import { TABLES } from "../v1/tables.ts";
import { messageCodecs } from "./message.ts";

const status = messageCodecs(TABLES)("TaskStatus");
const trip = (timestamp: unknown): unknown => status.decode(status.encode({ timestamp }));

test.each([
  ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000Z"],
  ["2026-01-31T12:00:00.5Z", "2026-01-31T12:00:00.500Z"],
  ["2026-01-31T13:00:00.123456789+01:00", "2026-01-31T12:00:00.123Z"],
  ["1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"],
  ["1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00.000Z"],
  ["0001-01-01T00:00:00.000Z", "0001-01-01T00:00:00.000Z"],
  ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
])("the time %s is read in UTC and with milliseconds", (written, read) => {
  expect(trip(written)).toStrictEqual({ timestamp: read });
});

test.each(["yesterday", "", "2026-01-31", "2026-01-31T12:00:00", "2026-13-31T12:00:00Z", 5, {}])(
  "%j is no time",
  (timestamp) => {
    expect(() => status.encode({ timestamp })).toThrow(
      "TaskStatus.timestamp must be a time such as 2026-01-31T12:00:00.000Z",
    );
  },
);

test.each([
  ["after the year 9999", "1a07" + "08" + "8083d1ffaf07"],
  ["with nanoseconds below 0", "1a0b" + "10" + "ffffffffffffffffff01"],
  ["before the year 1", "1a0b" + "08" + "80808080808080808001"],
])("a time %s is refused", (_, hex) => {
  expect(() => status.decode(Uint8Array.from(Buffer.from(hex, "hex")))).toThrow(
    "TaskStatus.timestamp must be a time between the years 1 and 9999",
  );
});
