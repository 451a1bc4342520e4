import type { ProtocolVersion } from "../model/version.ts";
import type { GrpcService } from "./binary/service.ts";
import { serviceV03 } from "./v0_3/service.ts";
import { serviceV1 } from "./v1/service.ts";

/** The gRPC service of each wire version. */
export const GRPC_SERVICES: Readonly<Record<ProtocolVersion, GrpcService>> = {
  "0.3": serviceV03,
  "1.0": serviceV1,
};
