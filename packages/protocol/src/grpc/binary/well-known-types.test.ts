import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { A2AError } from "../../model/errors.ts";
import { jsonObjects, jsonValues } from "../../testing/arbitraries.suite.ts";
import { GRPC_SERVICES } from "../index.ts";
import { TABLES } from "../v1/tables.gen.ts";
import { messageCodecs } from "./message.ts";

const part = messageCodecs(TABLES)("Part");
const trip = (json: unknown): unknown => part.decode(part.encode(json));

test("any JSON value survives a round trip through its bytes", () => {
  fc.assert(
    fc.property(jsonValues, jsonObjects, (data, metadata) => {
      expect(trip({ data, metadata })).toStrictEqual({ data, metadata });
    }),
  );
});

test("a key called __proto__ stays a key and never becomes a prototype", () => {
  const data = JSON.parse('{"__proto__":{"admin":true}}') as object;

  const arrived = trip({ data }) as { data: { admin?: boolean } };

  expect(arrived.data.admin).toBeUndefined();
  expect(JSON.stringify(arrived.data)).toBe('{"__proto__":{"admin":true}}');
});

test("values that JSON does not have are written as JSON writes them", () => {
  const data = { gone: undefined, list: [undefined, Number.NaN, Number.POSITIVE_INFINITY] };

  expect(trip({ data })).toStrictEqual({ data: JSON.parse(JSON.stringify(data)) as unknown });
});

test("a number that JSON does not have is rejected", () => {
  // data: { 2: NaN }
  const bytes = Uint8Array.from(Buffer.from("2209" + "11" + "000000000000f87f", "hex"));

  expect(() => part.decode(bytes)).toThrow(
    "Part.data must not contain a number that JSON does not have",
  );
});

test("a value without a kind is null, and of several the last one counts", () => {
  const decodeBase64 = (hex: string) => Uint8Array.from(Buffer.from(hex, "hex"));

  expect(part.decode(decodeBase64("2200"))).toStrictEqual({ data: null });
  expect(part.decode(decodeBase64("2205" + "1a0161" + "2001"))).toStrictEqual({ data: true });
});

describe("nested data", () => {
  const tooDeep = expect.objectContaining({
    reason: "InvalidParams",
    field: "Part.data",
    detail: "Part.data must not be nested deeper than 128 levels",
  });

  test("128 levels deep arrives", () => {
    expect(trip({ data: listsOf(128) })).toStrictEqual({ data: listsOf(128) });
    expect(trip({ data: objectsOf(128) })).toStrictEqual({ data: objectsOf(128) });
    expect(trip({ metadata: objectsOf(128) })).toStrictEqual({ metadata: objectsOf(128) });
  });

  test("that is deeper is not written", () => {
    expect(() => part.encode({ data: listsOf(129) })).toThrow(tooDeep);
    expect(() => part.encode({ data: objectsOf(129) })).toThrow(tooDeep);
    expect(() => part.encode({ data: listsOf(100_000) })).toThrow(tooDeep);
  });

  test("that is deeper is not read, at any depth", () => {
    expect(() => part.decode(bytesOfLists(129))).toThrow(tooDeep);
    expect(() => part.decode(bytesOfLists(100_000))).toThrow(tooDeep);
  });

  test("that is deeper is an error for the caller, and never a crash", () => {
    const [send] = GRPC_SERVICES["1.0"].methods;
    const partBytes = bytesOfLists(5000);
    const message = delimited(0x2a, partBytes);

    const read = () => send?.decodeRequest(delimited(0x12, message));

    expect(read).toThrow(A2AError);
    expect(read).toThrow(tooDeep);
  });

  test("in unknown groups is rejected as well", () => {
    const groups = new Uint8Array(200_000).fill(0x7b);

    expect(() => GRPC_SERVICES["1.0"].methods[0]?.decodeRequest(groups)).toThrow(
      expect.objectContaining({ reason: "InvalidRequest" }),
    );
  });
});

function listsOf(depth: number): unknown {
  let value: unknown = [];
  for (let level = 1; level < depth; level += 1) value = [value];
  return value;
}

function objectsOf(depth: number): unknown {
  let value: unknown = {};
  for (let level = 1; level < depth; level += 1) value = { inner: value };
  return value;
}

/** A part whose data are nested lists, written from the inside out. */
function bytesOfLists(depth: number): Uint8Array {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const put = (bytes: readonly number[]) => {
    chunks.push(Uint8Array.from(bytes));
    length += bytes.length;
  };
  for (let level = 0; level < depth; level += 1) {
    if (level > 0) put([0x0a, ...varint(length)]);
    put([0x32, ...varint(length)]);
  }
  put([0x22, ...varint(length)]);
  return Uint8Array.from(Buffer.concat(chunks.toReversed()));
}

function delimited(tag: number, bytes: Uint8Array): Uint8Array {
  return Uint8Array.from([tag, ...varint(bytes.length), ...bytes]);
}

function varint(value: number): readonly number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest & 127) | 128);
    rest >>>= 7;
  }
  return [...bytes, rest];
}

const status = messageCodecs(TABLES)("TaskStatus");
const timeTrip = (timestamp: unknown): unknown => status.decode(status.encode({ timestamp }));

test.each([
  ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000Z"],
  ["2026-01-31T12:00:00.5Z", "2026-01-31T12:00:00.500Z"],
  ["2026-01-31T13:00:00.123456789+01:00", "2026-01-31T12:00:00.123Z"],
  ["1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"],
  ["1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00.000Z"],
  ["0001-01-01T00:00:00.000Z", "0001-01-01T00:00:00.000Z"],
  ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
])("the time %s is read in UTC and with milliseconds", (written, read) => {
  expect(timeTrip(written)).toStrictEqual({ timestamp: read });
});

test.each(["yesterday", "", "2026-01-31", "2026-01-31T12:00:00", "2026-13-31T12:00:00Z", 5, {}])(
  "%j is not a time",
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
])("a time %s is rejected", (_, hex) => {
  expect(() => status.decode(Uint8Array.from(Buffer.from(hex, "hex")))).toThrow(
    "TaskStatus.timestamp must be a time between the years 1 and 9999",
  );
});
