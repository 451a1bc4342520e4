import { messageCodecs } from "../binary/message.ts";
import type { FieldRow, ProtoTables, ServiceTables } from "../binary/wire-format.ts";

/** A proto file as reflection describes it. */
export interface ProtoFile {
  readonly name: string;
  readonly dependencies: readonly string[];
  /** The full names of its services, methods, messages and enums. */
  readonly symbols: ReadonlySet<string>;
  /** A `google.protobuf.FileDescriptorProto`. */
  readonly bytes: Uint8Array;
}

interface FileFacts {
  readonly name: string;
  readonly package: string;
  readonly tables: ProtoTables & Partial<ServiceTables>;
  /** The rpcs to which clients send a stream. */
  readonly clientStreams?: readonly string[];
  /** Names of fields such as `Task.id` that do not follow from their JSON names. */
  readonly protoNames?: Readonly<Record<string, string>>;
}

/** Describes the messages, enums and the service of a proto package. */
export function describeFile(facts: FileFacts): ProtoFile {
  const { name, package: owner, tables, clientStreams, protoNames = {} } = facts;
  const dependencies = new Set<string>();
  const symbols = new Set<string>();
  const typeName = (type: string): string => {
    const file = GOOGLE_TYPES[type];
    if (file === undefined || owner === GOOGLE) return `.${owner}.${type}`;
    dependencies.add(`google/protobuf/${file}.proto`);
    return `.${GOOGLE}.${type}`;
  };
  const names = Object.keys(tables.messages).filter(
    (message) => owner === GOOGLE || GOOGLE_TYPES[message] === undefined,
  );
  const messageType = names.map((message) =>
    describeMessage(message, tables, { typeName, protoNames, fullName: `.${owner}.${message}` }),
  );
  const enumType = Object.entries(tables.enums).map(([enumName, values]) => ({
    name: enumName,
    value: values.map((value, number) => ({ name: value, number })),
  }));
  for (const symbol of [...names, ...Object.keys(tables.enums)]) symbols.add(`${owner}.${symbol}`);
  const { service = "", rpcs = {} } = tables;
  const method = Object.entries(rpcs).map(([rpc, [input, output, stream]]) => ({
    name: rpc,
    inputType: typeName(input),
    outputType: typeName(output),
    clientStreaming: clientStreams?.includes(rpc) === true,
    serverStreaming: stream !== undefined,
  }));
  if (service !== "") symbols.add(service);
  for (const rpc of Object.keys(rpcs)) symbols.add(`${service}.${rpc}`);
  const bytes = messageCodecs(DESCRIPTORS)("FileDescriptorProto").encode({
    name,
    package: owner,
    dependency: [...dependencies],
    messageType,
    enumType,
    ...(service !== "" && { service: [{ name: service.slice(owner.length + 1), method }] }),
    syntax: "proto3",
  });
  return { name, dependencies: [...dependencies], symbols, bytes };
}

const GOOGLE = "google.protobuf";

/** Types of Google that the tables use, and the files that define them. */
const GOOGLE_TYPES: Readonly<Record<string, string>> = {
  Empty: "empty",
  Struct: "struct",
  Value: "struct",
  Timestamp: "timestamp",
};

/** The numbers of `FieldDescriptorProto.Type`. */
const SCALAR_TYPES: Readonly<Record<string, number>> = {
  double: 1,
  int64: 3,
  int32: 5,
  bool: 8,
  string: 9,
  bytes: 12,
};

const MESSAGE_TYPE = 11;
const ENUM_TYPE = 14;
const OPTIONAL = 1;
const REPEATED = 3;

interface MessageFacts {
  readonly typeName: (type: string) => string;
  readonly protoNames: Readonly<Record<string, string>>;
  readonly fullName: string;
}

function describeMessage(name: string, tables: ProtoTables, facts: MessageFacts): object {
  const rows = Object.entries(tables.messages[name] ?? {});
  const oneofs = [...new Set(rows.flatMap(([, row]) => oneofOf(row) ?? []))];
  // A field that is `optional` in proto3 is the only one of a oneof, which comes after the others.
  const all = [
    ...oneofs,
    ...rows.filter(([, row]) => row[2] === "optional").map(([key]) => `_${snakeCase(key)}`),
  ];
  const typeOf = (type: string): object => {
    const scalar = SCALAR_TYPES[type];
    if (scalar !== undefined) return { type: scalar };
    const number = Object.hasOwn(tables.enums, type) ? ENUM_TYPE : MESSAGE_TYPE;
    return { type: number, typeName: facts.typeName(type) };
  };
  const field = rows.map(([key, row]) => {
    const [number, type, rule] = row;
    const oneof = rule === "optional" ? `_${snakeCase(key)}` : oneofOf(row);
    return {
      name: facts.protoNames[`${name}.${key}`] ?? snakeCase(key),
      jsonName: key,
      number,
      label: rule === "repeated" || rule === "map" ? REPEATED : OPTIONAL,
      ...(rule === "map"
        ? { type: MESSAGE_TYPE, typeName: `${facts.fullName}.${entryName(key)}` }
        : typeOf(type)),
      ...(oneof !== undefined && { oneofIndex: all.indexOf(oneof) }),
      ...(rule === "optional" && { proto3Optional: true }),
    };
  });
  const nestedType = rows
    .filter(([, row]) => row[2] === "map")
    .map(([key, [, type]]) => ({
      name: entryName(key),
      field: [
        { name: "key", jsonName: "key", number: 1, label: OPTIONAL, type: SCALAR_TYPES["string"] },
        { name: "value", jsonName: "value", number: 2, label: OPTIONAL, ...typeOf(type) },
      ],
      options: { mapEntry: true },
    }));
  return { name, field, nestedType, oneofDecl: all.map((oneof) => ({ name: oneof })) };
}

function oneofOf([, , rule]: FieldRow): string | undefined {
  return rule?.startsWith("oneof ") === true ? rule.slice("oneof ".length) : undefined;
}

function snakeCase(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The message that a map field is a list of. */
function entryName(key: string): string {
  return `${key.charAt(0).toUpperCase()}${key.slice(1)}Entry`;
}

/** The parts of google/protobuf/descriptor.proto that are used. */
const DESCRIPTORS: ProtoTables = {
  messages: {
    FileDescriptorProto: {
      name: [1, "string"],
      package: [2, "string"],
      dependency: [3, "string", "repeated"],
      messageType: [4, "DescriptorProto", "repeated"],
      enumType: [5, "EnumDescriptorProto", "repeated"],
      service: [6, "ServiceDescriptorProto", "repeated"],
      syntax: [12, "string"],
    },
    DescriptorProto: {
      name: [1, "string"],
      field: [2, "FieldDescriptorProto", "repeated"],
      nestedType: [3, "DescriptorProto", "repeated"],
      options: [7, "MessageOptions"],
      oneofDecl: [8, "OneofDescriptorProto", "repeated"],
    },
    MessageOptions: { mapEntry: [7, "bool"] },
    OneofDescriptorProto: { name: [1, "string"] },
    FieldDescriptorProto: {
      name: [1, "string"],
      number: [3, "int32"],
      label: [4, "int32"],
      type: [5, "int32"],
      typeName: [6, "string"],
      oneofIndex: [9, "int32", "optional"],
      jsonName: [10, "string"],
      proto3Optional: [17, "bool"],
    },
    EnumDescriptorProto: {
      name: [1, "string"],
      value: [2, "EnumValueDescriptorProto", "repeated"],
    },
    EnumValueDescriptorProto: { name: [1, "string"], number: [2, "int32", "optional"] },
    ServiceDescriptorProto: {
      name: [1, "string"],
      method: [2, "MethodDescriptorProto", "repeated"],
    },
    MethodDescriptorProto: {
      name: [1, "string"],
      inputType: [2, "string"],
      outputType: [3, "string"],
      clientStreaming: [5, "bool"],
      serverStreaming: [6, "bool"],
    },
  },
  enums: {},
};
