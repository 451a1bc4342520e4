// What a gRPC binding needs: it converts between protobuf and the ProtoJSON of `PROTO_CODECS`.

export { GRPC_SERVICES } from "./services.ts";
export type { GrpcMethod, GrpcService } from "./binary/service.ts";
export {
  type StatusDetails,
  decodeStatusDetails,
  encodeStatusDetails,
} from "./binary/status-details.ts";
