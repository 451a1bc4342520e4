import type { Binding, WireHeaders } from "@convoke/check/wire";
import type { ProtocolVersion } from "@convoke/protocol";
import type { TokenIssuer } from "./token-issuer.ts";

/** One address of the agent, as its card lists it. */
export interface AgentInterface {
  readonly binding: Binding;
  readonly version: ProtocolVersion;
  readonly url: string;
}

/** What a process uses, as the operating system counts it. */
export interface Usage {
  readonly descriptors: number;
  readonly memoryBytes: number;
}

/** A request that is not part of A2A and needs credentials. */
interface OwnRoute {
  readonly method: "GET" | "POST";
  readonly path: string;
}

/**
 * What an agent does on a certain message. An attack on a behavior that the agent does not have is
 * not applicable.
 */
interface Behaviors {
  /** The task waits for an answer. */
  readonly ask?: string;
  /** The answer has several megabytes. */
  readonly large?: string;
  /** A tool is called that needs an approval. */
  readonly approval?: string;
  /** The task asks for a secret, which must not be stored. */
  readonly secret?: string;
}

/** A server under attack. Everything except for its address is optional: what is unknown is not attacked. */
export interface Target {
  /** The address of the agent, where its card is found. */
  readonly url: string;
  readonly interfaces: readonly AgentInterface[];
  /** The headers of two callers that must not see each other's tasks. */
  readonly callers?: { readonly ann: WireHeaders; readonly bob: WireHeaders };
  /** Credentials that were valid once, by why they are not any more. */
  readonly retired?: Readonly<Record<string, WireHeaders>>;
  /** A caller of tenant `north`, on a server that also has tenant `south`. */
  readonly tenant?: WireHeaders;
  /** Signs tokens with the keys that the server trusts. */
  readonly issuer?: TokenIssuer;
  readonly ownRoutes?: readonly OwnRoute[];
  readonly behaviors?: Behaviors;
  /** How long the server lets a slow client wait, at most. Default: 15 s. */
  readonly slowMs?: number;
  /** Requests that one caller may send in a minute, if the attacker should exceed them. */
  readonly rateLimits?: { readonly logins: number; readonly writes: number };
  /** A push receiver of ours that the server was allowed to call; it redirects to the trap. */
  readonly receiver?: Receiver;
  /** Everything the process has logged. */
  readonly log?: () => Promise<string>;
  /** The bytes of everything it has stored. */
  readonly stored?: () => Promise<string>;
  readonly usage?: () => Promise<Usage>;
  readonly isRunning?: () => boolean;
  /** Calls an agent with the client library of the target. */
  readonly callAgent?: (url: string, token: string) => Promise<void>;
  /** Prints an agent card with the command line of the target. */
  readonly printCard?: (url: string) => Promise<string>;
}

/** A receiver of push notifications. */
export interface Receiver {
  readonly url: string;
  /** Answers the next requests with a redirect. */
  redirectTo(location: string): void;
  /** How many requests have arrived. */
  readonly requests: () => number;
}
