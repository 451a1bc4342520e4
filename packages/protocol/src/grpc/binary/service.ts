import { A2AError } from "../../model/errors.ts";
import { OPERATIONS, type OperationName, type ProtocolVersion } from "../../model/operations.ts";
import { type MessageCodec, messageCodecs } from "./message.ts";
import type { ProtoTables } from "./wire-format.ts";

/** One method of a gRPC service. The JSON is that of the version's codec in `PROTO_CODECS`. */
export interface GrpcMethod {
  readonly operation: OperationName;
  /** For example `SendMessage`. */
  readonly name: string;
  /** For example `/a2a.v1.A2AService/SendMessage`. */
  readonly path: string;
  /** Whether the response is a stream. */
  readonly streaming: boolean;
  decodeRequest(bytes: Uint8Array): unknown;
  encodeRequest(json: unknown): Uint8Array;
  encodeResponse(json: unknown): Uint8Array;
  decodeResponse(bytes: Uint8Array): unknown;
}

/** The gRPC service of one wire version. */
export interface GrpcService {
  readonly version: ProtocolVersion;
  /** For example `a2a.v1.A2AService`. */
  readonly name: string;
  readonly methods: readonly GrpcMethod[];
}

/** An `rpc` line of the proto file. */
interface MethodRow {
  readonly operation: OperationName;
  readonly name: string;
  readonly request: string;
  readonly response: string;
  /** Converters for a response whose JSON differs from the ProtoJSON of the proto file. */
  readonly toProto?: (json: unknown) => unknown;
  readonly fromProto?: (json: unknown) => unknown;
}

interface ServiceFacts {
  readonly version: ProtocolVersion;
  readonly name: string;
  readonly tables: ProtoTables;
  readonly rows: readonly MethodRow[];
}

export function createService({ version, name, tables, rows }: ServiceFacts): GrpcService {
  const codecs = messageCodecs(tables);
  return { version, name, methods: rows.map((row) => createMethod(name, row, codecs)) };
}

function createMethod(
  service: string,
  row: MethodRow,
  codecs: (name: string) => MessageCodec,
): GrpcMethod {
  const { operation, name, toProto = identity, fromProto = identity } = row;
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

function identity(json: unknown): unknown {
  return json;
}

/** Decodes bytes; an error that does not name a field means that the bytes are not valid protobuf. */
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

/** An invalid field in a response is not the fault of the caller. */
function answered<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!A2AError.is(cause) || cause.reason !== "InvalidParams") throw cause;
    throw new A2AError("InvalidAgentResponse", cause.detail, { cause });
  }
}
