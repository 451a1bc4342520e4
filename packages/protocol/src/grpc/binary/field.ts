import type { Reader, Writer } from "protobufjs/minimal.js";
import { invalidParams } from "../../errors.ts";
import { readDelimited, readFields } from "./delimited.ts";
import type { Kind } from "./kind.ts";
import type { FieldRow } from "./table.ts";
import { setField } from "./struct.ts";

/** What a message is in JSON. */
export type Json = Record<string, unknown>;

/** A field of a message, ready to be written and read. */
export interface Field {
  readonly number: number;
  readonly wireType: number;
  /** Writes the field of the JSON, where it has it. */
  write(writer: Writer, json: Readonly<Json>): void;
  /** Reads one occurrence of the field into the JSON. */
  read(reader: Reader, json: Json): void;
}

interface FieldFacts {
  readonly name: string;
  /** What an error calls it: `Task.history`. */
  readonly title: string;
  readonly tag: number;
  readonly kind: Kind;
}

/** A field of its row. `rivals` are the other members of its oneof. */
export function fieldOf(
  message: string,
  name: string,
  row: FieldRow,
  kind: Kind,
  rivals: readonly string[],
): Field {
  const [number, , rule] = row;
  const wireType = rule === "map" ? 2 : kind.wireType;
  const facts = { name, title: `${message}.${name}`, tag: ((number << 3) | wireType) >>> 0, kind };
  return { number, wireType, ...accessOf(facts, rule, rivals) };
}

type Access = Pick<Field, "write" | "read">;

function accessOf(facts: FieldFacts, rule: FieldRow[2], rivals: readonly string[]): Access {
  if (rule === "repeated") return repeated(facts);
  if (rule === "map") return map(facts);
  if (rule === undefined) return single(facts, facts.kind.zero, []);
  return single(facts, undefined, rivals);
}

/** A field whose default is the same as its absence, unless `zero` is nothing. */
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

/** Entries are messages with a key and a value. */
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
