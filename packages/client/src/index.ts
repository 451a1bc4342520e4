// Everything below is a promise to users; keep it short.

// Speak to an agent
export { type ConnectOptions, connect } from "./connect.ts";
export type {
  Answer,
  GetOptions,
  ListOptions,
  RemoteAgent,
  SendOptions,
  SubscribeOptions,
} from "./remote-agent.ts";
export { isToken } from "./http.ts";
export type { EventStream } from "./event-stream.ts";
export type { Input } from "./message-of.ts";

// Look at its card without speaking to it
export { type DiscoverOptions, type DiscoveredCard, type RawCard, discover } from "./discover.ts";
export { type CardInterface, interfacesOf } from "./choose-interface.ts";

// What can go wrong
export { ClientError, type ClientErrorKind, RemoteError } from "./errors.ts";
