import type { Reader } from "protobufjs/minimal.js";

/** Reads what stands behind a length, and nothing beyond it. */
export function readDelimited<T>(reader: Reader, read: () => T): T {
  const end = reader.size() + reader.pos;
  const outer = reader.len;
  if (end > outer) throw new RangeError("a length points beyond the end");
  reader.len = end;
  const value = read();
  reader.len = outer;
  return value;
}

/** Calls for each field of the message that the reader stands in; what it does not know is skipped. */
export function readFields(reader: Reader, read: (tag: number) => boolean): void {
  while (reader.pos < reader.len) {
    const tag = reader.tag();
    if (!read(tag)) reader.skipType(tag & 7, 0, tag >>> 3);
  }
}
