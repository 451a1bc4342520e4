import { invalidParams } from "../../errors.ts";
import { readDelimited, readFields } from "./delimited.ts";
import type { Kind } from "./kind.ts";

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d+))?(?:Z|[+-]\d\d:\d\d)$/i;

/** The years 1 to 9999, in seconds. */
const FIRST = -62_135_596_800;
const LAST = 253_402_300_799;

/** google.protobuf.Timestamp: a time in JSON, which is read with milliseconds and in UTC. */
export const timestamp: Kind = {
  wireType: 2,
  write(writer, value, field) {
    const [seconds, nanos] = instantOf(value, field);
    writer.fork();
    if (seconds !== 0) writer.uint32(8).int64(seconds);
    if (nanos !== 0) writer.uint32(16).int32(nanos);
    writer.ldelim();
  },
  read(reader, field) {
    let seconds = 0;
    let nanos = 0;
    readDelimited(reader, () => {
      readFields(reader, (tag) => {
        if (tag === 8) seconds = numberOf(reader.int64());
        else if (tag === 16) nanos = reader.int32();
        else return false;
        return true;
      });
    });
    if (seconds < FIRST || seconds > LAST || nanos < 0 || nanos > 999_999_999) {
      throw invalidParams(field, "must be a time between the years 1 and 9999");
    }
    return new Date(seconds * 1000 + Math.floor(nanos / 1_000_000)).toISOString();
  },
};

function instantOf(value: unknown, field: string): readonly [seconds: number, nanos: number] {
  const match = typeof value === "string" ? RFC_3339.exec(value) : null;
  const milliseconds = match === null ? Number.NaN : Date.parse(match[0]);
  const seconds = Math.floor(milliseconds / 1000);
  if (!(seconds >= FIRST && seconds <= LAST)) {
    throw invalidParams(field, "must be a time such as 2026-01-31T12:00:00.000Z");
  }
  return [seconds, Number((match?.[1] ?? "").padEnd(9, "0").slice(0, 9))];
}

/** Exact for every second that a calendar has. */
function numberOf({ high, low }: { readonly high: number; readonly low: number }): number {
  return high * 2 ** 32 + (low >>> 0);
}
