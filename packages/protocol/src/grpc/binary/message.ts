import { Reader, Writer } from "protobufjs/minimal.js";
import { invalidParams } from "../../errors.ts";
import { readDelimited, readFields } from "./delimited.ts";
import { type Field, type Json, fieldOf } from "./field.ts";
import type { Kind } from "./kind.ts";
import { SCALARS, enumKind } from "./scalars.ts";
import { struct, value } from "./struct.ts";
import type { FieldRow, ProtoTables } from "./table.ts";
import { timestamp } from "./timestamp.ts";

/** One message between its bytes and its ProtoJSON. */
export interface MessageCodec {
  encode(json: unknown): Uint8Array;
  decode(bytes: Uint8Array): unknown;
}

/** The types that ProtoJSON spells in a way of their own. */
const WELL_KNOWN: Readonly<Record<string, Kind>> = {
  Struct: struct,
  Value: value,
  Timestamp: timestamp,
};

/**
 * Gives the codec of a message by its name. Messages are prepared as they are
 * asked for: a server shows its card before it reads any bytes. `more` are
 * types that the tables use and do not have.
 */
export function messageCodecs(
  tables: ProtoTables,
  more: Readonly<Record<string, Kind>> = {},
): (name: string) => MessageCodec {
  const kinds = new Map<string, Kind>(Object.entries({ ...SCALARS, ...WELL_KNOWN, ...more }));
  for (const [name, values] of Object.entries(tables.enums)) kinds.set(name, enumKind(values));
  const bodies = new Map<string, Body>();

  const bodyOf = (name: string): Body => {
    const known = bodies.get(name);
    if (known !== undefined) return known;
    const body = new Body(name);
    bodies.set(name, body);
    body.take(fieldsOf(name, tables, kindOf));
    return body;
  };
  const kindOf = (type: string): Kind => kinds.get(type) ?? messageKind(bodyOf(type));
  return (name) => codecOf(bodyOf(name));
}

function fieldsOf(name: string, tables: ProtoTables, kindOf: (type: string) => Kind) {
  const rows = tables.messages[name];
  if (rows === undefined) throw new TypeError(`there is no table of the message ${name}`);
  return Object.entries(rows).map(([key, row]) =>
    fieldOf(name, key, row, kindOf(row[1]), rivalsOf(key, row, rows)),
  );
}

function rivalsOf(key: string, row: FieldRow, rows: Readonly<Record<string, FieldRow>>) {
  const rule = row[2];
  if (!rule?.startsWith("oneof ")) return [];
  return Object.keys(rows).filter((other) => other !== key && rows[other]?.[2] === rule);
}

/** The fields of a message, one after another, without a length before them. */
class Body {
  readonly #name: string;
  #fields: readonly Field[] = [];
  #byNumber: ReadonlyMap<number, Field> = new Map();

  constructor(name: string) {
    this.#name = name;
  }

  take(fields: readonly Field[]): void {
    this.#fields = fields;
    this.#byNumber = new Map(fields.map((field) => [field.number, field]));
  }

  write(writer: Writer, json: unknown, field = this.#name): void {
    if (typeof json !== "object" || json === null || Array.isArray(json)) {
      throw invalidParams(field, "must be an object");
    }
    for (const one of this.#fields) one.write(writer, json as Json);
  }

  /** A known field of another wire type is unknown. */
  read(reader: Reader, json: Json): Json {
    readFields(reader, (tag) => {
      const field = this.#byNumber.get(tag >>> 3);
      if (field === undefined || field.wireType !== (tag & 7)) return false;
      field.read(reader, json);
      return true;
    });
    return json;
  }
}

function messageKind(body: Body): Kind {
  return {
    wireType: 2,
    write(writer, json, field) {
      writer.fork();
      body.write(writer, json, field);
      writer.ldelim();
    },
    read: (reader, _, before) =>
      readDelimited(reader, () => body.read(reader, (before ?? {}) as Json)),
  };
}

function codecOf(body: Body): MessageCodec {
  return {
    encode(json) {
      const writer = Writer.create();
      body.write(writer, json);
      return writer.finish();
    },
    decode: (bytes) => body.read(Reader.create(bytes), {}),
  };
}
