import type { ProtocolVersion } from "../model/operations.ts";
import type { GrpcService } from "./binary/service.ts";
import { serviceV03 } from "./v0_3/service.ts";
import { serviceV1 } from "./v1/service.ts";

/** The gRPC service of each wire version. */
export const GRPC_SERVICES: Readonly<Record<ProtocolVersion, GrpcService>> = {
  "0.3": serviceV03,
  "1.0": serviceV1,
};

export { HEALTH_SERVICE, REFLECTION_PATHS, SERVICES, reflect } from "./reflection/reflection.ts";

// JSON Schemas of the messages, for descriptions of REST.

export {
  type JsonSchema,
  type OperationMessages,
  jsonSchemas,
  operationMessages,
} from "./json-schemas.ts";

// What a gRPC binding needs: it converts between protobuf and the ProtoJSON of `PROTO_CODECS`.

export type { GrpcMethod, GrpcService } from "./binary/service.ts";
export {
  type StatusDetails,
  decodeStatusDetails,
  encodeStatusDetails,
} from "./binary/status-details.ts";
