import type { TaskState } from "convoke";

/**
 * The common features of both official clients under the same names, so that each test is written
 * once and run with both. An adapter only calls its SDK and renames the results.
 */
export interface SdkClient {
  /** The name on the card that the client found. */
  readonly agentName: string;
  send(text: string, options?: SendOptions): Promise<SeenTask | SeenMessage>;
  stream(text: string, options?: StreamOptions): AsyncIterable<Seen>;
  subscribe(taskId: string, signal?: AbortSignal): AsyncIterable<Seen>;
  get(taskId: string): Promise<SeenTask>;
  cancel(taskId: string): Promise<SeenTask>;
  readonly pushes: SdkPushes;
}

/** The push configs of tasks. */
export interface SdkPushes {
  set(taskId: string, hook: Hook): Promise<SeenPush>;
  get(taskId: string, id: string): Promise<SeenPush>;
  list(taskId: string): Promise<readonly SeenPush[]>;
  delete(taskId: string, id: string): Promise<void>;
}

/** The name on a card. */
export type SdkTransport = "JSONRPC" | "HTTP+JSON" | "GRPC";

/** One official SDK. */
export interface Sdk {
  readonly name: string;
  readonly version: "0.3" | "1.0";
  readonly transport: SdkTransport;
  /** The client, created as the SDK's documentation does: from the URL of the agent. */
  discover(url: string, fetchImpl?: typeof fetch): Promise<SdkClient>;
  /** The SDK's own way to send credentials. */
  authenticate(fetchImpl: typeof fetch, handler: AuthenticationHandler): typeof fetch;
  /** The class of the SDK's error for an unknown task. */
  readonly TaskNotFoundError: new () => Error;
  /** The class of the SDK's error for an agent without push notifications. */
  readonly PushNotificationNotSupportedError: new () => Error;
  /** Parses the body of a notification as the SDK would. */
  readNotification(body: string): Seen;
}

/** Both SDKs have it in this form. */
interface AuthenticationHandler {
  headers(): Promise<Record<string, string>>;
  /** Called after each response; if it returns headers the request is repeated with them. */
  shouldRetryWithHeaders(
    request: RequestInit,
    response: Response,
  ): Promise<Record<string, string> | undefined>;
}

interface MessageOptions {
  readonly taskId?: string;
  readonly contextId?: string;
  /** Where notifications should be sent, if they are wanted. */
  readonly push?: Hook;
}

export interface SendOptions extends MessageOptions {
  /** False requests an immediate response. Default: the SDK's own default. */
  readonly blocking?: boolean;
}

interface StreamOptions extends MessageOptions {
  /** Only this closes a connection in the SDKs: leaving their loop keeps it open. */
  readonly signal?: AbortSignal;
}

/** Where notifications are sent. */
interface Hook {
  readonly id?: string;
  readonly url: string;
  readonly token?: string;
}

/** A push config as the server returned it. */
export interface SeenPush extends Hook {
  readonly taskId: string;
}

/** What a client received. States are spelled as in 0.3 for both versions. */
export type Seen = SeenTask | SeenStatus | SeenArtifactUpdate | SeenMessage;

export interface SeenTask {
  readonly kind: "task";
  readonly taskId: string;
  readonly contextId: string;
  readonly state: TaskState;
  /** The text of the status. */
  readonly text: string;
  readonly artifacts: readonly SeenArtifact[];
  /** The text of each message so far. */
  readonly history: readonly string[];
}

interface SeenStatus {
  readonly kind: "status";
  readonly taskId: string;
  readonly state: TaskState;
  readonly text: string;
  /** 0.3 only: 1.0 has no such field. */
  readonly final?: boolean;
}

export interface SeenArtifactUpdate {
  readonly kind: "artifact";
  readonly taskId: string;
  readonly artifact: SeenArtifact;
  readonly append: boolean;
  readonly lastChunk: boolean;
}

export interface SeenMessage {
  readonly kind: "message";
  readonly text: string;
}

export interface SeenArtifact {
  readonly artifactId: string;
  readonly name: string;
  readonly parts: readonly SeenPart[];
}

export type SeenPart =
  | { readonly kind: "text"; readonly text: string }
  | {
      readonly kind: "file";
      readonly name: string;
      readonly mediaType: string;
      readonly content: string;
    }
  | { readonly kind: "data"; readonly data: unknown };

/** The text of the parts. */
export function textOf(parts: readonly SeenPart[]): string {
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}
