import { A2AError, type Codec, PROTO_CODECS, type ProtocolVersion } from "@convoke/protocol";
import { GRPC_SERVICES, type GrpcMethod } from "@convoke/protocol/grpc";
import type { HttpRequest } from "../../http/exchange.ts";
import { requestedVersion } from "../../http/requested-version.ts";

/** A call whose method and wire version are known. */
export interface OpenedGrpc {
  readonly method: GrpcMethod;
  readonly codec: Codec;
}

const VERSIONS = ["0.3", "1.0"] as const satisfies readonly ProtocolVersion[];

/** The version whose service a path names; the newest where it names none. */
export function grpcVersionOf({ path }: HttpRequest): ProtocolVersion {
  return VERSIONS.find((version) => path.startsWith(`/${GRPC_SERVICES[version].name}/`)) ?? "1.0";
}

/** The service decides on the version; a header that contradicts it is refused (protocol §5). */
export function openGrpc(request: HttpRequest): OpenedGrpc {
  const version = grpcVersionOf(request);
  if (!request.isHttp2) throw new A2AError("UnsupportedOperation", "gRPC needs HTTP/2");
  const method = GRPC_SERVICES[version].methods.find(({ path }) => path === request.path);
  if (method === undefined || request.method !== "POST") {
    throw new A2AError("MethodNotFound", `there is no method ${request.path}`, {
      details: { method: request.path },
    });
  }
  const asked = requestedVersion(request);
  if (asked !== undefined && asked !== version) {
    throw new A2AError(
      "VersionNotSupported",
      `A2A-Version ${asked} does not fit ${GRPC_SERVICES[version].name}`,
      { details: { requested: asked, supported: version } },
    );
  }
  return { method, codec: PROTO_CODECS[version] };
}
