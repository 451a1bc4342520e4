import { type ProtocolVersion, parseVersion } from "@convoke/protocol";
import { type HttpRequest, header } from "./exchange.ts";

/** The version the caller names, in the header or the query (1.0 §3.6.1). */
export function requestedVersion(request: HttpRequest): ProtocolVersion | undefined {
  return parseVersion(header(request, "a2a-version") ?? request.query.get("A2A-Version"));
}
