import type { Reader, Writer } from "protobufjs/minimal.js";
import { invalidParams } from "../../model/errors.ts";
import { type Kind, readDelimited, readFields } from "./wire-format.ts";

/** The same limit as for JSON, so that all bindings can carry what one of them accepts. */
const MAX_DEPTH = 128;

type Fields = Record<string, unknown>;

/** google.protobuf.Struct: an object in JSON. */
export const struct: Kind = {
  wireType: 2,
  write(writer, value, field) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw invalidParams(field, "must be an object");
    }
    writeStruct(writer, value, field, 1);
  },
  read: (reader, field, before) => readStruct(reader, field, 1, (before ?? {}) as Fields),
};

/** google.protobuf.Value: anything in JSON, null included. */
export const value: Kind = {
  wireType: 2,
  takesNull: true,
  write: (writer, json, field) => writeValue(writer, json, field, 1),
  read: (reader, field) => readValue(reader, field, 1),
};

function checkDepth(field: string, depth: number): void {
  if (depth > MAX_DEPTH) {
    throw invalidParams(field, `must not be nested deeper than ${MAX_DEPTH} levels`);
  }
}

/** Omits undefined fields, as JSON does. */
function writeStruct(writer: Writer, fields: object, field: string, depth: number): void {
  checkDepth(field, depth);
  writer.fork();
  for (const [key, json] of Object.entries(fields)) {
    if (json === undefined) continue;
    writer.uint32(10).fork().uint32(10).string(key.toWellFormed()).uint32(18);
    writeValue(writer, json, field, depth + 1);
    writer.ldelim();
  }
  writer.ldelim();
}

function writeList(writer: Writer, list: readonly unknown[], field: string, depth: number): void {
  checkDepth(field, depth);
  writer.fork();
  for (const json of list) writeValue(writer.uint32(10), json, field, depth + 1);
  writer.ldelim();
}

function writeValue(writer: Writer, json: unknown, field: string, depth: number): void {
  writer.fork();
  if (typeof json === "string") writer.uint32(26).string(json.toWellFormed());
  else if (typeof json === "number" && Number.isFinite(json)) writer.uint32(17).double(json);
  else if (typeof json === "boolean") writer.uint32(32).bool(json);
  else if (Array.isArray(json)) writeList(writer.uint32(50), json, field, depth);
  else if (typeof json === "object" && json !== null) {
    writeStruct(writer.uint32(42), json, field, depth);
  }
  // Null, and values that JSON writes as null.
  else writer.uint32(8).int32(0);
  writer.ldelim();
}

function readStruct(reader: Reader, field: string, depth: number, into: Fields): Fields {
  checkDepth(field, depth);
  readDelimited(reader, () => {
    readFields(reader, (tag) => {
      if (tag !== 10) return false;
      const [key, json] = readEntry(reader, field, depth + 1);
      setField(into, key, json);
      return true;
    });
  });
  return into;
}

function readEntry(reader: Reader, field: string, depth: number): readonly [string, unknown] {
  let key = "";
  let json: unknown = null;
  readDelimited(reader, () => {
    readFields(reader, (tag) => {
      if (tag === 10) key = reader.stringVerify();
      else if (tag === 18) json = readValue(reader, field, depth);
      else return false;
      return true;
    });
  });
  return [key, json];
}

/** Sets a field; a key such as `__proto__` must not change the prototype. */
export function setField(fields: Fields, key: string, json: unknown): void {
  if (key !== "__proto__") fields[key] = json;
  else {
    const property = { value: json, enumerable: true, configurable: true, writable: true };
    Object.defineProperty(fields, key, property);
  }
}

/** The last of several values counts; none at all is null. */
function readValue(reader: Reader, field: string, depth: number): unknown {
  let json: unknown = null;
  readDelimited(reader, () => {
    readFields(reader, (tag) => {
      switch (tag) {
        case 8:
          reader.int32();
          json = null;
          return true;
        case 17:
          json = finite(reader.double(), field);
          return true;
        case 26:
          json = reader.stringVerify();
          return true;
        case 32:
          json = reader.bool();
          return true;
        case 42:
          json = readStruct(reader, field, depth, {});
          return true;
        case 50:
          json = readList(reader, field, depth);
          return true;
        default:
          return false;
      }
    });
  });
  return json;
}

function readList(reader: Reader, field: string, depth: number): readonly unknown[] {
  checkDepth(field, depth);
  const list: unknown[] = [];
  readDelimited(reader, () => {
    readFields(reader, (tag) => {
      if (tag !== 10) return false;
      list.push(readValue(reader, field, depth + 1));
      return true;
    });
  });
  return list;
}

function finite(number: number, field: string): number {
  if (Number.isFinite(number)) return number;
  throw invalidParams(field, "must not contain a number that JSON does not have");
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d+))?(?:Z|[+-]\d\d:\d\d)$/i;

/** The years 1 to 9999, in seconds. */
const FIRST = -62_135_596_800;

const LAST = 253_402_300_799;

/** google.protobuf.Timestamp: an ISO time in JSON, decoded with milliseconds and in UTC. */
export const timestamp: Kind = {
  wireType: 2,
  write(writer, value, field) {
    const [seconds, nanos] = parseInstant(value, field);
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
        if (tag === 8) seconds = toNumber(reader.int64());
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

function parseInstant(value: unknown, field: string): readonly [seconds: number, nanos: number] {
  const match = typeof value === "string" ? RFC_3339.exec(value) : null;
  const milliseconds = match === null ? Number.NaN : Date.parse(match[0]);
  const seconds = Math.floor(milliseconds / 1000);
  if (!(seconds >= FIRST && seconds <= LAST)) {
    throw invalidParams(field, "must be a time such as 2026-01-31T12:00:00.000Z");
  }
  return [seconds, Number((match?.[1] ?? "").padEnd(9, "0").slice(0, 9))];
}

/** google.protobuf.Duration: seconds with a suffix in JSON, as in `1.5s`. */
export const duration: Kind = {
  wireType: 2,
  write(writer, value, field) {
    const [, sign = "", whole = "", fraction = ""] =
      /^(-?)(\d{1,12})(?:\.(\d{1,9}))?s$/.exec(String(value)) ?? [];
    if (whole === "") throw invalidParams(field, "must be a duration such as 1.5s");
    const nanos = Number(`${sign}${fraction.padEnd(9, "0")}`);
    writer
      .fork()
      .uint32(8)
      .int64(Number(sign + whole));
    writer.uint32(16).int32(nanos).ldelim();
  },
  read(reader) {
    let seconds = 0;
    let nanos = 0;
    readDelimited(reader, () => {
      readFields(reader, (tag) => {
        if (tag === 8) seconds = toNumber(reader.int64());
        else if (tag === 16) nanos = reader.int32();
        else return false;
        return true;
      });
    });
    return `${seconds + nanos / 1e9}s`;
  },
};

/** Exact for every second between the years 1 and 9999. */
function toNumber({ high, low }: { readonly high: number; readonly low: number }): number {
  return high * 2 ** 32 + (low >>> 0);
}
