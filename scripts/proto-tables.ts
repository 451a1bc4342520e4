/**
 * Writes the tables of `@convoke/protocol/grpc` from the proto files of the package. The tables are
 * committed, so that nothing parses a proto file at run time; a test compares them with the files.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import protobuf from "protobufjs";

const PACKAGE = new URL("../packages/protocol/", import.meta.url);

/** A proto file and the file of its tables, below the folder of the package. */
interface ProtoSource {
  readonly proto: string;
  readonly tables: string;
}

export const PROTO_SOURCES: readonly ProtoSource[] = [
  { proto: "proto/lf.a2a.v1.proto", tables: "src/grpc/v1/tables.gen.ts" },
  { proto: "proto/a2a.v1.proto", tables: "src/grpc/v0_3/tables.gen.ts" },
];

export function tablesFile({ tables }: ProtoSource): string {
  return fileURLToPath(new URL(tables, PACKAGE));
}

/** The TypeScript source of the tables of a proto file. */
export function generateTables({ proto }: ProtoSource): string {
  const source = readFileSync(new URL(proto, PACKAGE), "utf8");
  return [
    `// Generated from ${proto} by \`npm run proto\`; do not edit.`,
    'import type { ServiceTables } from "../binary/wire-format.ts";',
    "",
    `export const TABLES = ${print(parseTables(source), "")} as const satisfies ServiceTables;`,
    "",
  ].join("\n");
}

type Row = readonly (string | number)[];
type Rows = Record<string, Row>;

interface Tables {
  readonly service: string;
  readonly rpcs: Rows;
  readonly messages: Record<string, Rows>;
  readonly enums: Rows;
}

function parseTables(source: string): Tables {
  const { package: name = "", root } = protobuf.parse(source);
  const found = root.lookup(name);
  if (!(found instanceof protobuf.Namespace)) throw new TypeError(`${name} is not a package`);
  const types = found.nestedArray;
  const [service, ...others] = types.filter((type) => type instanceof protobuf.Service);
  if (service === undefined || others.length > 0) {
    throw new TypeError(`${name} must have exactly one service`);
  }
  const messages = types.filter((type) => type instanceof protobuf.Type);
  const enums = types.filter((type) => type instanceof protobuf.Enum);
  const tables = {
    service: `${name}.${service.name}`,
    rpcs: Object.fromEntries(service.methodsArray.map((rpc) => [rpc.name, rpcRow(rpc)])),
    messages: Object.fromEntries(messages.map((type) => [type.name, fieldRows(type)])),
    enums: Object.fromEntries(enums.map((type) => [type.name, enumRow(type)])),
  };
  // The only Google message that has no special representation in ProtoJSON.
  if (/\bgoogle\.protobuf\.Empty\b/.test(source)) tables.messages["Empty"] = {};
  checkTypes(tables);
  return tables;
}

function rpcRow({
  requestType,
  responseType,
  responseStream,
  requestStream,
  name,
}: protobuf.Method) {
  if (requestStream) throw new TypeError(`the request of ${name} must not be a stream`);
  return [shortName(requestType), shortName(responseType), ...(responseStream ? ["stream"] : [])];
}

function fieldRows(type: protobuf.Type): Rows {
  return Object.fromEntries(
    // The order in the proto file is the order of the bytes.
    type.fieldsArray.map((field) => {
      const rule = ruleFor(field);
      return [
        // The parser has converted `name` to camel case; an explicit `json_name` wins.
        field.jsonName ?? field.name,
        [field.id, shortName(field.type), ...(rule === undefined ? [] : [rule])],
      ];
    }),
  );
}

function ruleFor(field: protobuf.Field): string | undefined {
  if (field instanceof protobuf.MapField) {
    if (field.keyType !== "string") throw new TypeError(`${field.fullName} must have text as keys`);
    return "map";
  }
  if (field.repeated) return "repeated";
  // proto3 `optional` is a oneof with a single, generated member.
  if (field.options?.["proto3_optional"] === true) return "optional";
  return field.partOf === null ? undefined : `oneof ${field.partOf.name}`;
}

function enumRow({ name, values }: protobuf.Enum): Row {
  const row = Object.keys(values);
  if (row.some((key, number) => values[key] !== number)) {
    throw new TypeError(`the values of ${name} must be numbered from 0 without gaps`);
  }
  return row;
}

/** Google types are identified by their unqualified name. */
function shortName(type: string): string {
  return type.replace(/^google\.protobuf\./, "");
}

const BUILT_IN = ["string", "bytes", "bool", "int32", "Struct", "Value", "Timestamp"];

/** Rejects a type that the tables do not define and the codecs do not know. */
function checkTypes({ rpcs, messages, enums }: Tables): void {
  const known = new Set([...BUILT_IN, ...Object.keys(messages), ...Object.keys(enums)]);
  const used = [
    ...Object.values(rpcs).flatMap(([request, response]) => [request, response]),
    ...Object.values(messages).flatMap((rows) => Object.values(rows).map(([, type]) => type)),
  ];
  const unknown = used.find((type) => !known.has(String(type)));
  if (unknown !== undefined) throw new TypeError(`the type ${unknown} is not known`);
}

const PRINT_WIDTH = 100;

/** Prints a value as the formatter of the repository would: objects on several lines, arrays if they are long. */
function print(value: unknown, indent: string, key = ""): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  if (!Array.isArray(value)) {
    const lines = Object.entries(value).map(
      ([name, member]) => `${inner}${name}: ${print(member, inner, name)},\n`,
    );
    return lines.length === 0 ? "{}" : `{\n${lines.join("")}${indent}}`;
  }
  const items = value.map((item) => print(item, inner));
  const line = `[${items.join(", ")}]`;
  if (`${indent}${key}: ${line},`.length <= PRINT_WIDTH) return line;
  return `[\n${items.map((item) => `${inner}${item},\n`).join("")}${indent}]`;
}

if (import.meta.main) {
  for (const source of PROTO_SOURCES) writeFileSync(tablesFile(source), generateTables(source));
}
