import type { Reader, Writer } from "protobufjs/minimal.js";

/** The cardinality of a field. */
type Rule =
  | "repeated"
  /** A map from text to the type. */
  | "map"
  /** Distinguishable from its default, as proto3 `optional`. */
  | "optional"
  /** One of several, distinguishable from its default. */
  | `oneof ${string}`;

/** A field by its JSON name: its number, its type, and its rule. */
export type FieldRow = readonly [number: number, type: string, rule?: Rule];

/** Messages by name, as in the proto file. */
type MessageTables = Readonly<Record<string, Readonly<Record<string, FieldRow>>>>;

/** Enums by name: their values in the order of their numbers, from 0. */
type EnumTables = Readonly<Record<string, readonly string[]>>;

/** All messages and enums of one proto package. */
export interface ProtoTables {
  readonly messages: MessageTables;
  readonly enums: EnumTables;
}

/** An rpc: the messages of its request and of its response, and whether it responds with a stream. */
export type RpcRow = readonly [request: string, response: string, stream?: "stream"];

/** A proto package with its service. */
export interface ServiceTables extends ProtoTables {
  /** For example `a2a.v1.A2AService`. */
  readonly service: string;
  readonly rpcs: Readonly<Record<string, RpcRow>>;
}

/** How values of one type are written and read. `field` is their name in errors. */
export interface Kind {
  readonly wireType: 0 | 2;
  /** The value that an absent field stands for, if any. */
  readonly zero?: unknown;
  /** Whether null is a value; otherwise it means absent. */
  readonly takesNull?: true;
  write(writer: Writer, value: unknown, field: string): void;
  /** Reads a value. A message that is split into several occurrences is merged into `before`. */
  read(reader: Reader, field: string, before: unknown): unknown;
}

/** Reads a length-delimited value, and nothing beyond it. */
export function readDelimited<T>(reader: Reader, read: () => T): T {
  const end = reader.size() + reader.pos;
  const outer = reader.len;
  if (end > outer) throw new RangeError("a length points beyond the end");
  reader.len = end;
  const value = read();
  reader.len = outer;
  return value;
}

/** Calls `read` for each field of the current message; a field for which it returns false is skipped. */
export function readFields(reader: Reader, read: (tag: number) => boolean): void {
  while (reader.pos < reader.len) {
    const tag = reader.tag();
    if (!read(tag)) reader.skipType(tag & 7, 0, tag >>> 3);
  }
}
