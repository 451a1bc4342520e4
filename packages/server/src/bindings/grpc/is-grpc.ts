import { type HttpRequest, header } from "../../http/exchange.ts";

/** Whether it is gRPC's to answer, whatever it asks for. */
export function isGrpc(request: HttpRequest): boolean {
  return header(request, "content-type")?.startsWith("application/grpc") === true;
}
