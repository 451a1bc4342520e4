import type {
  Binding,
  ClientErrorKind,
  OperationName,
  ProtocolVersion,
  TaskState,
} from "@convoke/protocol";
import type { GrpcMove } from "./wire/grpc-move.ts";
import type { Move } from "./wire/move.ts";

/** How the agent of a scenario is spoken to. */
export interface FaultSpeaking {
  readonly version: ProtocolVersion;
  readonly binding: Binding;
}

/** What a client asks for on the wire. */
export type FaultStep = OperationName | "card";

/** A request as the agent got it. */
export interface FaultCall {
  readonly step: FaultStep;
  /** Which one of this step it is, from 1 on. */
  readonly count: number;
  readonly speaking: FaultSpeaking;
  /** The id of a JSON-RPC request. */
  readonly id: unknown;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Where the agent is; its card is there. */
  readonly origin: string;
  /** `host:port` of its gRPC. */
  readonly grpc: string;
  /** Asks the real agent behind this one, where there is one. */
  readonly behind: () => Promise<Response>;
}

export type FaultReply = (call: FaultCall) => readonly Move[] | Promise<readonly Move[]>;

export type GrpcReply = (call: FaultCall) => readonly GrpcMove[];

/** One reply for each request of a step; the last one answers all that follow. */
type FaultReplies = Readonly<Partial<Record<FaultStep, readonly FaultReply[]>>>;

type GrpcReplies = Readonly<Partial<Record<OperationName, readonly GrpcReply[]>>>;

/** What the user of the client wants. */
type FaultAsk = "connect" | "send" | "stream" | "get" | "subscribe" | "cancel";

export interface ExpectedAnswer {
  /** The whole text; for "connect" the name on the card. */
  readonly text: string;
  /** Where the task is in the end; none where the answer is a message or a card. */
  readonly state?: TaskState;
}

/** What a right client does: it has the exact result, or says in one clear error why not. */
export type Right =
  | ExpectedAnswer
  /** Nothing to speak of came: a `ClientError` of this kind. */
  | { readonly error: ClientErrorKind; readonly says: RegExp; readonly or?: ExpectedAnswer }
  /** The agent said no: a `RemoteError` with this code. */
  | { readonly code: number; readonly says: RegExp; readonly or?: ExpectedAnswer }
  /** Something before the agent said no: a `RemoteError` with this status and no code. */
  | { readonly httpStatus: number; readonly says: RegExp; readonly or?: ExpectedAnswer }
  /** Only the caller can end it: the caller's own reason. */
  | { readonly aborted: RegExp };

/** What the user of the client has set, so that a scenario ends soon. */
interface FaultSettings {
  /** How long a stream may be silent. */
  readonly idleTimeoutMs?: number;
  /** For how long a lost connection is tried again. */
  readonly giveUpMs?: number;
  /** How long one call may take. */
  readonly timeoutMs?: number;
  /** When the caller has had enough. */
  readonly abortMs?: number;
  /** A token that stays, or one that is new whenever it is asked for: `token-1`, `token-2`… */
  readonly token?: "fixed" | "fresh";
  /** Whether an older version may be tried where the card names none. */
  readonly allowDowngrade?: boolean;
}

/** One thing that goes wrong, and what is right then. */
export interface FaultScenario {
  readonly id: string;
  /** What the agent does, as a sentence. */
  readonly sentence: string;
  /** The scenario is the same in each of these. */
  readonly speaks: readonly FaultSpeaking[];
  readonly asks: FaultAsk;
  /** What is not listed is answered as a good agent would. */
  readonly replies?: FaultReplies;
  readonly grpcReplies?: GrpcReplies;
  readonly right: Right;
  /** How many requests of a step a right client makes at most, where more would do harm. */
  readonly atMost?: Readonly<Partial<Record<FaultStep, number>>>;
  readonly settings?: FaultSettings;
  /**
   * Why another client may do something else and be right by the specification, such as "A2A has
   * no ids for events".
   */
  readonly beyond?: string;
  /** TLS, by a certificate that the user trusts or one that nobody does; or none where the user expects it. */
  readonly tls?: "trusted" | "untrusted" | "expected" | "unexpected" | "silent";
  /** Needs the real agent: it repeats what it is told. */
  readonly needsAgent?: boolean;
  /** How long it may take, where ten seconds are too few for the work itself. */
  readonly boundMs?: number;
}
