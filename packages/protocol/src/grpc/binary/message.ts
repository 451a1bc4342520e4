import { Reader, Writer } from "protobufjs/minimal.js";
import { invalidParams } from "../../model/errors.ts";
import { SCALARS, enumKind } from "./scalars.ts";
import { setField, struct, timestamp, value } from "./well-known-types.ts";
import {
  type FieldRow,
  type Kind,
  type ProtoTables,
  readDelimited,
  readFields,
} from "./wire-format.ts";

/** Converts one message between protobuf and ProtoJSON. */
export interface MessageCodec {
  encode(json: unknown): Uint8Array;
  decode(bytes: Uint8Array): unknown;
}

/** Types with a JSON representation of their own. */
const WELL_KNOWN: Readonly<Record<string, Kind>> = {
  Struct: struct,
  Value: value,
  Timestamp: timestamp,
};

/**
 * Returns a function that finds the codec of a message by its name. Messages are compiled on first
 * use, so that they do not delay the start of a server. `more` are types that the tables use but do
 * not define.
 */
export function messageCodecs(
  tables: ProtoTables,
  more: Readonly<Record<string, Kind>> = {},
): (name: string) => MessageCodec {
  const kinds = new Map<string, Kind>(Object.entries({ ...SCALARS, ...WELL_KNOWN, ...more }));
  for (const [name, values] of Object.entries(tables.enums)) kinds.set(name, enumKind(values));
  const bodies = new Map<string, Body>();

  const bodyFor = (name: string): Body => {
    const known = bodies.get(name);
    if (known !== undefined) return known;
    const body = new Body(name);
    bodies.set(name, body);
    body.take(fieldsOf(name, tables, kindOf));
    return body;
  };
  const kindOf = (type: string): Kind => kinds.get(type) ?? messageKind(bodyFor(type));
  return (name) => createCodec(bodyFor(name));
}

function fieldsOf(name: string, tables: ProtoTables, kindOf: (type: string) => Kind) {
  const rows = tables.messages[name];
  if (rows === undefined) throw new TypeError(`there is no table of the message ${name}`);
  return Object.entries(rows).map(([key, row]) =>
    compileField(name, key, row, kindOf(row[1]), findRivals(key, row, rows)),
  );
}

function findRivals(key: string, row: FieldRow, rows: Readonly<Record<string, FieldRow>>) {
  const rule = row[2];
  if (!rule?.startsWith("oneof ")) return [];
  return Object.keys(rows).filter((other) => other !== key && rows[other]?.[2] === rule);
}

/** The fields of a message without its length prefix. */
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

  /** A known field with another wire type counts as unknown. */
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

function createCodec(body: Body): MessageCodec {
  return {
    encode(json) {
      const writer = Writer.create();
      body.write(writer, json);
      return writer.finish();
    },
    decode: (bytes) => body.read(Reader.create(bytes), {}),
  };
}

/** A message as JSON. */
type Json = Record<string, unknown>;

/** A compiled field of a message. */
interface Field {
  readonly number: number;
  readonly wireType: number;
  /** Writes the field, if the JSON has it. */
  write(writer: Writer, json: Readonly<Json>): void;
  /** Reads one occurrence of the field into the JSON. */
  read(reader: Reader, json: Json): void;
}

interface FieldFacts {
  readonly name: string;
  /** Its name in errors: `Task.history`. */
  readonly title: string;
  readonly tag: number;
  readonly kind: Kind;
}

/** Compiles a row of a table. `rivals` are the other members of its oneof. */
function compileField(
  message: string,
  name: string,
  row: FieldRow,
  kind: Kind,
  rivals: readonly string[],
): Field {
  const [number, , rule] = row;
  const wireType = rule === "map" ? 2 : kind.wireType;
  const facts = { name, title: `${message}.${name}`, tag: ((number << 3) | wireType) >>> 0, kind };
  return { number, wireType, ...createAccess(facts, rule, rivals) };
}

type Access = Pick<Field, "write" | "read">;

function createAccess(facts: FieldFacts, rule: FieldRow[2], rivals: readonly string[]): Access {
  if (rule === "repeated") return repeated(facts);
  if (rule === "map") return map(facts);
  if (rule === undefined) return single(facts, facts.kind.zero, []);
  return single(facts, undefined, rivals);
}

/** A single field. Its default value is the same as its absence, unless `zero` is undefined. */
function single(facts: FieldFacts, zero: unknown, rivals: readonly string[]): Access {
  const { name, title, tag, kind } = facts;
  return {
    write(writer, json) {
      const value = json[name];
      if (value === undefined || (value === null && !kind.takesNull)) return;
      if (zero !== undefined && value === zero) return;
      kind.write(writer.uint32(tag), value, title);
    },
    read(reader, json) {
      const value = kind.read(reader, title, json[name]);
      for (const rival of rivals) if (rival in json) delete json[rival];
      if (zero === undefined || value !== zero) json[name] = value;
      else if (name in json) delete json[name];
    },
  };
}

function repeated({ name, title, tag, kind }: FieldFacts): Access {
  return {
    write(writer, json) {
      const list = json[name] ?? [];
      if (!Array.isArray(list)) throw invalidParams(title, "must be an array");
      for (const value of list) kind.write(writer.uint32(tag), value, title);
    },
    read(reader, json) {
      const list = (json[name] ??= []) as unknown[];
      list.push(kind.read(reader, title, undefined));
    },
  };
}

/** A map, whose entries are messages with a key and a value. */
function map({ name, title, tag, kind }: FieldFacts): Access {
  const valueTag = (2 << 3) | kind.wireType;
  return {
    write(writer, json) {
      const entries = json[name] ?? {};
      if (typeof entries !== "object") throw invalidParams(title, "must be an object");
      for (const [key, value] of Object.entries(entries)) {
        writer.uint32(tag).fork().uint32(10).string(key.toWellFormed());
        kind.write(writer.uint32(valueTag), value, title);
        writer.ldelim();
      }
    },
    read(reader, json) {
      let key = "";
      let value: unknown = kind.zero ?? {};
      readDelimited(reader, () => {
        readFields(reader, (found) => {
          if (found === 10) key = reader.stringVerify();
          else if (found === valueTag) value = kind.read(reader, title, undefined);
          else return false;
          return true;
        });
      });
      setField((json[name] ??= {}) as Json, key, value);
    },
  };
}
