// For other libraries: an agent that is reached by a way of one's own, and what its card promises.

export { RemoteAgent } from "../remote-agent.ts";
export { remoteContextId } from "../bridge/remote-context-id.ts";
export type {
  CallOptions,
  Calls,
  Connection,
  Speaking,
  StreamItem,
  StreamOptions,
  Streams,
} from "@convoke/protocol";
export { knowsMessages } from "./knows-messages.ts";
