// What a gRPC binding needs: bytes on one side, on the other the ProtoJSON of `PROTO_CODECS`.

export { GRPC_SERVICES } from "./services.ts";
export type { GrpcMethod, GrpcService } from "./service.ts";
export { type StatusDetails, decodeStatusDetails, encodeStatusDetails } from "./status-details.ts";
