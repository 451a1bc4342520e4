import fc, { type Arbitrary } from "fast-check";
import type { FieldRow, ProtoTables } from "../grpc/binary/wire-format.ts";
import { jsonObjects, jsonValues } from "./arbitraries.suite.ts";

const texts = fc.string({ unit: "grapheme", maxLength: 12 });

const base64 = fc.uint8Array({ maxLength: 12 }).map((bytes) => btoa(String.fromCharCode(...bytes)));

const times = fc
  .date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true })
  .map((date) => date.toISOString());

const SCALARS: Readonly<Record<string, Arbitrary<unknown>>> = {
  string: texts,
  bytes: base64,
  bool: fc.boolean(),
  int32: fc.integer(),
  Struct: jsonObjects,
  Value: jsonValues,
  Timestamp: times,
};

/** The values that a field without presence cannot distinguish from its absence. */
const DEFAULTS: ReadonlySet<unknown> = new Set(["", false, 0]);

/** A message as ProtoJSON writes it: without defaults, and with at most one member of a oneof. */
export function protoJsonOf(tables: ProtoTables, name: string): Arbitrary<object> {
  const rows = Object.entries(tables.messages[name] ?? {});
  const fields = Object.fromEntries(rows.map(([key, row]) => [key, fieldOf(tables, row)] as const));
  return fc
    .record(fields, { requiredKeys: [], noNullPrototype: true })
    .map((json) => withOneOfEach(json, rows));
}

function fieldOf(tables: ProtoTables, [, type, rule]: FieldRow): Arbitrary<unknown> {
  const one = valueOf(tables, type);
  if (rule === "repeated") return fc.array(one, { minLength: 1, maxLength: 2 });
  if (rule === "map") {
    return fc.dictionary(texts, one, { minKeys: 1, maxKeys: 2, noNullPrototype: true });
  }
  return rule === undefined ? one.filter((value) => !DEFAULTS.has(value)) : one;
}

function valueOf(tables: ProtoTables, type: string): Arbitrary<unknown> {
  const names = tables.enums[type];
  if (names !== undefined) return fc.constantFrom(...names.slice(1));
  return SCALARS[type] ?? protoJsonOf(tables, type);
}

function withOneOfEach(
  json: Readonly<Record<string, unknown>>,
  rows: readonly (readonly [string, FieldRow])[],
): object {
  const taken = new Set<string>();
  const kept = rows.filter(([key, [, , rule]]) => {
    if (!(key in json) || !rule?.startsWith("oneof ")) return key in json;
    if (taken.has(rule)) return false;
    taken.add(rule);
    return true;
  });
  return Object.fromEntries(kept.map(([key]) => [key, json[key]]));
}

/**
 * A message without what proto3 cannot distinguish from its absence, and without what the proto
 * does not have.
 */
export function leanJson(tables: ProtoTables, type: string, json: unknown): unknown {
  const rows = tables.messages[type];
  // Bits that belong to no byte are lost.
  if (type === "bytes") return btoa(atob(json as string));
  if (rows === undefined) return json;
  const fields = json as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(rows).flatMap(([key, row]) => {
      const value = fields[key];
      return value === undefined || isDefault(tables, row, value)
        ? []
        : [[key, leanField(tables, row, value)]];
    }),
  );
}

function leanField(tables: ProtoTables, [, type, rule]: FieldRow, value: unknown): unknown {
  if (rule === "repeated") return (value as unknown[]).map((one) => leanJson(tables, type, one));
  if (rule !== "map") return leanJson(tables, type, value);
  return Object.fromEntries(
    Object.entries(value as object).map(([key, one]) => [key, leanJson(tables, type, one)]),
  );
}

function isDefault(tables: ProtoTables, [, type, rule]: FieldRow, value: unknown): boolean {
  if (rule === "repeated" || rule === "map") return Object.keys(value as object).length === 0;
  return rule === undefined && (DEFAULTS.has(value) || value === tables.enums[type]?.[0]);
}
