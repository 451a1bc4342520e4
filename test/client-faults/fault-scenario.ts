import type {
  Binding,
  ClientErrorKind,
  OperationName,
  ProtocolVersion,
  TaskState,
} from "@convoke/protocol";
import type { GrpcMove } from "./wire/grpc-move.ts";
import type { Move } from "./wire/move.ts";

/** The version and binding of a scenario's agent. */
export interface FaultSpeaking {
  readonly version: ProtocolVersion;
  readonly binding: Binding;
}

/** The operation a client requests on the wire. */
export type FaultStep = OperationName | "card";

/** A request as the agent received it. */
export interface FaultCall {
  readonly step: FaultStep;
  /** The ordinal of the request among those of its step, starting at 1. */
  readonly count: number;
  readonly speaking: FaultSpeaking;
  /** The id of a JSON-RPC request. */
  readonly id: unknown;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The base URL of the agent, where its card is. */
  readonly origin: string;
  /** `host:port` of its gRPC endpoint. */
  readonly grpc: string;
  /** Forwards the request to the real agent behind this one, if there is one. */
  readonly behind: () => Promise<Response>;
}

export type FaultReply = (call: FaultCall) => readonly Move[] | Promise<readonly Move[]>;

export type GrpcReply = (call: FaultCall) => readonly GrpcMove[];

/** One reply for each request of a step; the last one answers all further requests. */
type FaultReplies = Readonly<Partial<Record<FaultStep, readonly FaultReply[]>>>;

type GrpcReplies = Readonly<Partial<Record<OperationName, readonly GrpcReply[]>>>;

/** What the user of the client requests. */
type FaultAsk = "connect" | "send" | "stream" | "get" | "subscribe" | "cancel";

export interface ExpectedAnswer {
  /** The complete text; for "connect" the name on the card. */
  readonly text: string;
  /** The final state of the task; absent if the result is a message or a card. */
  readonly state?: TaskState;
}

/** The correct outcome: the exact result, or one clear error that says why there is none. */
export type Right =
  | ExpectedAnswer
  /** No usable answer: a `ClientError` of this kind. */
  | { readonly error: ClientErrorKind; readonly says: RegExp; readonly or?: ExpectedAnswer }
  /** The agent returned an error: a `RemoteError` with this code. */
  | { readonly code: number; readonly says: RegExp; readonly or?: ExpectedAnswer }
  /**
   * A proxy or server in front of the agent returned an error: a `RemoteError` with this status and
   * no code.
   */
  | { readonly httpStatus: number; readonly says: RegExp; readonly or?: ExpectedAnswer }
  /** Only the caller can end the call: the caller's own abort reason. */
  | { readonly aborted: RegExp };

/** Client options that the user has set, so that a scenario ends soon. */
interface FaultSettings {
  /** Maximum time without data on a stream. */
  readonly idleTimeoutMs?: number;
  /** How long a lost connection is retried. */
  readonly giveUpMs?: number;
  /** Timeout of a single call. */
  readonly timeoutMs?: number;
  /** When the caller's signal aborts. */
  readonly abortMs?: number;
  /** A fixed token, or a new one on every request: `token-1`, `token-2`… */
  readonly token?: "fixed" | "fresh";
  /** Whether an older version may be tried if the card declares none. */
  readonly allowDowngrade?: boolean;
}

/** One fault and the correct reaction to it. */
export interface FaultScenario {
  readonly id: string;
  /** What the agent does, as a sentence. */
  readonly sentence: string;
  /** The versions and bindings that the scenario is run with. */
  readonly speaks: readonly FaultSpeaking[];
  readonly asks: FaultAsk;
  /** Steps that are not listed are answered correctly. */
  readonly replies?: FaultReplies;
  readonly grpcReplies?: GrpcReplies;
  readonly right: Right;
  /** The maximum number of requests of a step, if more would do harm. */
  readonly atMost?: Readonly<Partial<Record<FaultStep, number>>>;
  readonly settings?: FaultSettings;
  /**
   * Why another outcome is also correct according to the specification, for example "A2A has no ids
   * for events".
   */
  readonly beyond?: string;
  /**
   * TLS with a certificate that the user trusts or does not trust, plain HTTP where the user expects
   * TLS, TLS where the user expects plain HTTP, or a handshake that never completes.
   */
  readonly tls?: "trusted" | "untrusted" | "expected" | "unexpected" | "silent";
  /** The scenario needs the real agent, which repeats its input. */
  readonly needsAgent?: boolean;
  /** Time limit, if the work itself takes longer than ten seconds. */
  readonly boundMs?: number;
}
