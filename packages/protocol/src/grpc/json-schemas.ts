import type { OperationName, ProtocolVersion } from "../model/operations.ts";
import type { Schema } from "../schema/schema.ts";
import * as schemasV03 from "../wire/v0_3_proto/schemas.ts";
import * as schemasV1 from "../wire/v1/schemas.ts";
import type { GrpcService } from "./binary/service.ts";
import type { FieldRow, ServiceTables } from "./binary/wire-format.ts";
import { serviceV03 } from "./v0_3/service.ts";
import { TABLES as tablesV03 } from "./v0_3/tables.gen.ts";
import { serviceV1 } from "./v1/service.ts";
import { TABLES as tablesV1 } from "./v1/tables.gen.ts";

/** A JSON Schema (2020-12), as plain JSON. */
export type JsonSchema = Readonly<Record<string, unknown>>;

interface Source {
  readonly service: GrpcService;
  readonly tables: ServiceTables;
  /** What is checked in messages that arrive, in addition to the types of the proto file. */
  readonly checks: Readonly<Record<string, Schema>>;
}

const SOURCES: Readonly<Record<ProtocolVersion, Source>> = {
  "0.3": {
    service: serviceV03,
    tables: tablesV03,
    checks: {
      Message: schemasV03.MESSAGE,
      Part: schemasV03.PART,
      FilePart: schemasV03.FILE,
      SendMessageRequest: schemasV03.SEND,
      SendMessageConfiguration: schemasV03.CONFIGURATION,
    },
  },
  "1.0": {
    service: serviceV1,
    tables: tablesV1,
    checks: {
      Message: schemasV1.MESSAGE,
      Part: schemasV1.PART,
      SendMessageRequest: schemasV1.SEND,
      ListTasksRequest: schemasV1.LIST,
      TaskPushNotificationConfig: schemasV1.PUSH_TARGET,
    },
  },
};

/**
 * The JSON Schemas of all messages and enums of a version, by name: the ProtoJSON that REST carries.
 * They come from the proto file, with what is checked beyond it.
 *
 * @param prefix what comes before a name in a `$ref`
 */
export function jsonSchemas(
  version: ProtocolVersion,
  prefix = "#/$defs/",
): Readonly<Record<string, JsonSchema>> {
  const { tables, checks } = SOURCES[version];
  const messages = Object.entries(tables.messages).map(([name, fields]) => [
    name,
    messageSchema(fields, checks[name], prefix),
  ]);
  const enums = Object.entries(tables.enums).map(([name, values]) => [
    name,
    { type: "string", enum: values },
  ]);
  return Object.fromEntries([...messages, ...enums]) as Record<string, JsonSchema>;
}

/** The names of the messages of an operation. */
export interface OperationMessages {
  readonly request: string;
  readonly response: string;
}

/** Returns `undefined` if the proto file of the version does not have the operation. */
export function operationMessages(
  version: ProtocolVersion,
  operation: OperationName,
): OperationMessages | undefined {
  const { service, tables } = SOURCES[version];
  const method = service.methods.find((candidate) => candidate.operation === operation);
  const row = method && tables.rpcs[method.name];
  return row && { request: row[0], response: row[1] };
}

function messageSchema(
  fields: Readonly<Record<string, FieldRow>>,
  check: Schema | undefined,
  prefix: string,
): JsonSchema {
  const { required, properties: checked = {} } = check?.type === "object" ? check : {};
  const types = Object.entries(fields).map(([name, row]) => [name, fieldSchema(row, prefix)]);
  const properties = Object.entries({
    // Fields that we accept although the proto file does not have them come last.
    ...(Object.fromEntries(types) as Record<string, JsonSchema>),
    ...omit(checked, fields),
  }).map(([name, type]) => [name, "$ref" in type ? type : { ...limitsOf(checked[name]), ...type }]);
  const oneOf = Object.entries(fields).filter(([, [, , rule]]) => rule?.startsWith("oneof"));
  return {
    type: "object",
    ...(required !== undefined && { required }),
    properties: Object.fromEntries(properties) as JsonSchema,
    ...(oneOf.length > 0 && { oneOf: oneOf.map(([name]) => ({ required: [name] })) }),
  };
}

function omit(
  all: Readonly<Record<string, Schema>>,
  names: object,
): Readonly<Record<string, JsonSchema>> {
  const kept = Object.entries(all).filter(([name]) => !Object.hasOwn(names, name));
  return Object.fromEntries(kept.map(([name, schema]) => [name, limitsOf(schema)]));
}

/** The check of a value without what only our errors use. */
function limitsOf(schema: Schema | undefined): JsonSchema {
  const { mismatch: _, ...limits } = { mismatch: undefined, ...schema };
  return limits;
}

function fieldSchema([, type, rule]: FieldRow, prefix: string): JsonSchema {
  const value = SCALARS[type] ?? { $ref: `${prefix}${type}` };
  if (rule === "repeated") return { type: "array", items: value };
  if (rule === "map") return { type: "object", additionalProperties: value };
  return value;
}

/** ProtoJSON of the scalars and the Google types. */
const SCALARS: Readonly<Record<string, JsonSchema>> = {
  string: { type: "string" },
  bytes: { type: "string", contentEncoding: "base64" },
  bool: { type: "boolean" },
  int32: { type: "integer" },
  Struct: { type: "object" },
  Timestamp: { type: "string", format: "date-time" },
  // Any JSON value.
  Value: {},
};
