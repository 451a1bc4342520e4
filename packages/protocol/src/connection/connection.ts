import type {
  CancelTaskRequest,
  CreatePushConfigRequest,
  DeletePushConfigRequest,
  GetPushConfigRequest,
  GetTaskRequest,
  ListPushConfigsRequest,
  ListTasksRequest,
  PushConfigPage,
  SendMessageRequest,
  SubscribeRequest,
  TaskPage,
} from "../requests.ts";
import type { Message } from "../message.ts";
import type { ProtocolVersion } from "../version.ts";
import type { PublicEvent } from "../events.ts";
import type { PushConfig } from "../push-config.ts";
import type { Task } from "../task.ts";
import type { TraceContext } from "../agent.ts";

/** An agent card as the agent wrote it. */
export type RawCard = Readonly<Record<string, unknown>>;

/** What requests carry besides what they are about. */
export interface RequestContext {
  /** Extensions of A2A that they ask for, besides those of the connection. */
  readonly extensions?: readonly string[] | undefined;
  /** The trace that they belong to, and the span that makes them. */
  readonly trace?: TraceContext | undefined;
  /**
   * Further headers, on gRPC metadata. They replace neither credentials nor headers of the protocol;
   * names that belong to those are rejected.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** How an agent is spoken to. */
export type Binding = "JSONRPC" | "HTTP+JSON" | "GRPC";

/** One interface of an agent, chosen. */
export interface Speaking {
  readonly url: string;
  readonly version: ProtocolVersion;
  readonly binding: Binding;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly context?: RequestContext | undefined;
}

export interface StreamOptions extends CallOptions {
  /** Goes on after this event. */
  readonly lastEventId?: string | undefined;
}

/** What each operation with one answer takes and gives, in the words of the model. */
export interface Calls {
  readonly sendMessage: { readonly request: SendMessageRequest; readonly result: Task | Message };
  readonly getTask: { readonly request: GetTaskRequest; readonly result: Task };
  readonly listTasks: { readonly request: ListTasksRequest; readonly result: TaskPage };
  readonly cancelTask: { readonly request: CancelTaskRequest; readonly result: Task };
  readonly createPushConfig: {
    readonly request: CreatePushConfigRequest;
    readonly result: PushConfig;
  };
  readonly getPushConfig: { readonly request: GetPushConfigRequest; readonly result: PushConfig };
  readonly listPushConfigs: {
    readonly request: ListPushConfigsRequest;
    readonly result: PushConfigPage;
  };
  readonly deletePushConfig: { readonly request: DeletePushConfigRequest; readonly result: void };
  readonly getExtendedCard: { readonly request: undefined; readonly result: RawCard };
}

/** What each operation with a stream of answers takes. */
export interface Streams {
  readonly sendStreamingMessage: SendMessageRequest;
  readonly subscribeToTask: SubscribeRequest;
}

/** What comes over a stream. */
export type StreamItem =
  /** An event, with the id that resumes after it; "" when the agent sends none. */
  | { readonly kind: "event"; readonly event: PublicEvent; readonly id: string }
  /** No event, but a sign of life, such as a keep-alive. */
  | { readonly kind: "alive" };

/**
 * An agent that can be spoken to: whatever version and binding, requests and
 * answers are those of the model. A call is one attempt at one interface; which
 * interface that is may change when one does not work. Nothing is resumed here.
 *
 * What goes wrong is a `RemoteError` (the agent said no) or a `ClientError`
 * ("unreachable": no connection, or it was lost; "unreadable": the answer is
 * not A2A; "unsupported": the version has no such operation).
 */
export interface Connection {
  readonly card: RawCard;
  /** The interface that is spoken to now. */
  readonly speaking: Speaking;
  call<Name extends keyof Calls>(
    operation: Name,
    request: Calls[Name]["request"],
    options?: CallOptions,
  ): Promise<Calls[Name]["result"]>;
  /**
   * What arrives together comes together, never nothing; what cannot be read is
   * thrown after what came before it. The request is made when the reading
   * begins. Ends when the agent closes the stream, whether or not its task ended.
   * Leaving the loop closes the connection.
   */
  stream<Name extends keyof Streams>(
    operation: Name,
    request: Streams[Name],
    options?: StreamOptions,
  ): AsyncGenerator<readonly StreamItem[], void, undefined>;
  /** Closes connections that are kept for later. */
  close(): void;
}
