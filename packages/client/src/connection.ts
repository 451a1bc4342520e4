// For other libraries: an agent that is reached through a connection of your own, and tasks of such
// an agent that work for a local task.

export { RemoteAgent } from "./agent/remote-agent.ts";
export { RemoteTask, findTask, remoteContextId } from "./bridge/remote-task.ts";
export type {
  CallOptions,
  Calls,
  Connection,
  SelectedInterface,
  StreamItem,
  StreamOptions,
  Streams,
} from "@convoke/protocol";
