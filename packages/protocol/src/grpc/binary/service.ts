import { A2AError } from "../../model/errors.ts";
import type { OperationName, ProtocolVersion } from "../../model/operations.ts";
import { type MessageCodec, messageCodecs } from "./message.ts";
import type { RpcRow, ServiceTables } from "./wire-format.ts";

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

/** Converters for a response whose JSON differs from the ProtoJSON of the proto file. */
interface ResponseConverters {
  readonly toProto: (json: unknown) => unknown;
  readonly fromProto: (json: unknown) => unknown;
}

interface ServiceFacts<T extends ServiceTables> {
  readonly version: ProtocolVersion;
  readonly tables: T;
  /** The rpc of each operation that the version has. */
  readonly rpcs: Readonly<Partial<Record<OperationName, keyof T["rpcs"] & string>>>;
  readonly converters?: Readonly<Partial<Record<OperationName, ResponseConverters>>>;
}

export function createService<const T extends ServiceTables>(facts: ServiceFacts<T>): GrpcService {
  const { version, tables, rpcs, converters = {} } = facts;
  const codecs = messageCodecs(tables);
  const entries = Object.entries(rpcs) as [OperationName, string][];
  const methods = entries.map(([operation, name]) => {
    const row = tables.rpcs[name];
    if (row === undefined) throw new TypeError(`${tables.service} has no rpc ${name}`);
    const path = `/${tables.service}/${name}`;
    return { operation, name, path, ...rpcCodec(row, codecs, converters[operation] ?? UNCHANGED) };
  });
  return { version, name: tables.service, methods };
}

const UNCHANGED: ResponseConverters = { toProto: identity, fromProto: identity };

function rpcCodec(
  [request, response, stream]: RpcRow,
  codecs: (name: string) => MessageCodec,
  { toProto, fromProto }: ResponseConverters,
): Omit<GrpcMethod, "operation" | "name" | "path"> {
  return {
    streaming: stream !== undefined,
    encodeRequest: (json) => codecs(request).encode(json),
    decodeRequest: (bytes) => decoded(codecs(request), bytes, "InvalidRequest"),
    encodeResponse: (json) => answered(() => codecs(response).encode(toProto(json))),
    decodeResponse: (bytes) =>
      answered(() => fromProto(decoded(codecs(response), bytes, "InvalidAgentResponse"))),
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
