// Raw A2A clients that send exactly what they are given. Internal code, does not follow semantic versioning.
import type { WireClient, WireSession } from "./client.ts";
import { GrpcClient } from "./grpc.ts";
import { JsonRpcClient } from "./jsonrpc.ts";
import { RestClient } from "./rest.ts";

export {
  BINDINGS,
  type Binding,
  type Call,
  type ErrorResponse,
  type StreamItem,
  type WireClient,
  type WireHeaders,
} from "./client.ts";
export type { WireError } from "./errors.ts";
export { Transcript } from "./exchange.ts";
export { REQUEST_ID } from "./jsonrpc.ts";

/** The raw client for the binding of the target. */
export function createWireClient(session: WireSession): WireClient {
  switch (session.target.binding) {
    case "jsonrpc":
      return new JsonRpcClient(session);
    case "rest":
      return new RestClient(session);
    case "grpc":
      return new GrpcClient(session);
    default:
      return session.target.binding satisfies never;
  }
}
