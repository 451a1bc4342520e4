import { A2AError } from "../errors.ts";
import { OPERATIONS, type OperationName } from "../operations.ts";
import type { ProtocolVersion } from "../version.ts";
import { type MessageCodec, messageCodecs } from "./binary/message.ts";
import type { ProtoTables } from "./binary/table.ts";

/** One method of a gRPC service. The JSON is what the codec of the version reads and writes. */
export interface GrpcMethod {
  readonly operation: OperationName;
  /** Such as `SendMessage`. */
  readonly name: string;
  /** Such as `/a2a.v1.A2AService/SendMessage`. */
  readonly path: string;
  /** Whether the answer is a stream. */
  readonly streaming: boolean;
  decodeRequest(bytes: Uint8Array): unknown;
  encodeRequest(json: unknown): Uint8Array;
  encodeResponse(json: unknown): Uint8Array;
  decodeResponse(bytes: Uint8Array): unknown;
}

/** The gRPC service of one wire version. */
export interface GrpcService {
  readonly version: ProtocolVersion;
  /** Such as `a2a.v1.A2AService`. */
  readonly name: string;
  readonly methods: readonly GrpcMethod[];
}

/** A line of the proto file that begins with `rpc`. */
interface MethodRow {
  readonly operation: OperationName;
  readonly name: string;
  readonly request: string;
  readonly response: string;
  /** Where the JSON of the answer is not the ProtoJSON of the proto: from one to the other. */
  readonly toProto?: (json: unknown) => unknown;
  readonly fromProto?: (json: unknown) => unknown;
}

interface ServiceFacts {
  readonly version: ProtocolVersion;
  readonly name: string;
  readonly tables: ProtoTables;
  readonly rows: readonly MethodRow[];
}

export function serviceOf({ version, name, tables, rows }: ServiceFacts): GrpcService {
  const codecs = messageCodecs(tables);
  return { version, name, methods: rows.map((row) => methodOf(name, row, codecs)) };
}

function methodOf(
  service: string,
  row: MethodRow,
  codecs: (name: string) => MessageCodec,
): GrpcMethod {
  const { operation, name, toProto = same, fromProto = same } = row;
  return {
    operation,
    name,
    path: `/${service}/${name}`,
    streaming: OPERATIONS[operation].streaming,
    encodeRequest: (json) => codecs(row.request).encode(json),
    decodeRequest: (bytes) => decoded(codecs(row.request), bytes, "InvalidRequest"),
    encodeResponse: (json) => answered(() => codecs(row.response).encode(toProto(json))),
    decodeResponse: (bytes) =>
      answered(() => fromProto(decoded(codecs(row.response), bytes, "InvalidAgentResponse"))),
  };
}

function same(json: unknown): unknown {
  return json;
}

/** What goes wrong with bytes is theirs, except where a field is named. */
function decoded(
  codec: MessageCodec,
  bytes: Uint8Array,
  reason: "InvalidRequest" | "InvalidAgentResponse",
): unknown {
  try {
    return codec.decode(bytes);
  } catch (cause) {
    if (A2AError.is(cause)) throw cause;
    throw new A2AError(reason, "the message is not valid protobuf", { cause });
  }
}

/** A field of an answer that cannot be used is no fault of who asked. */
function answered<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!A2AError.is(cause) || cause.reason !== "InvalidParams") throw cause;
    throw new A2AError("InvalidAgentResponse", cause.detail, { cause });
  }
}
