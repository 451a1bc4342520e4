// For other libraries: an agent that is reached through a connection of your own, and what its card promises.

export { RemoteAgent } from "./agent/remote-agent.ts";
export { remoteContextId } from "./bridge/bridge-run.ts";
export { deduplicatesMessages } from "./cards/card.ts";
export type {
  CallOptions,
  Calls,
  Connection,
  SelectedInterface,
  StreamItem,
  StreamOptions,
  Streams,
} from "@convoke/protocol";
