import type { TaskState } from "convoke";

/**
 * What both official clients can do, in one vocabulary, so that each story is told once and run
 * with both. An adapter only calls its SDK and renames what came back; nothing is made up.
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

/** What a card calls them. */
export type SdkTransport = "JSONRPC" | "HTTP+JSON" | "GRPC";

/** One official SDK. */
export interface Sdk {
  readonly name: string;
  readonly version: "0.3" | "1.0";
  readonly transport: SdkTransport;
  /** The client, made as the SDK's own documentation does it: from the address of the agent. */
  discover(url: string, fetchImpl?: typeof fetch): Promise<SdkClient>;
  /** The SDK's own way to show credentials. */
  authenticate(fetchImpl: typeof fetch, handler: AuthenticationHandler): typeof fetch;
  /** The class of the SDK's error for a task that does not exist. */
  readonly TaskNotFoundError: new () => Error;
  /** The class of the SDK's error for an agent that pushes nothing. */
  readonly PushNotificationNotSupportedError: new () => Error;
  /** Reads the body of a notification as the SDK would. */
  readNotification(body: string): Seen;
}

/** Both SDKs have it in this form. */
interface AuthenticationHandler {
  headers(): Promise<Record<string, string>>;
  /** Asked after each answer; headers mean that the request is tried again with them. */
  shouldRetryWithHeaders(
    request: RequestInit,
    response: Response,
  ): Promise<Record<string, string> | undefined>;
}

interface MessageOptions {
  readonly taskId?: string;
  readonly contextId?: string;
  /** Notifications are wanted, and this says where. */
  readonly push?: Hook;
}

export interface SendOptions extends MessageOptions {
  /** False asks for an answer at once. By default the SDK's own default holds. */
  readonly blocking?: boolean;
}

interface StreamOptions extends MessageOptions {
  /** The SDKs close a connection by this alone: leaving their loop keeps it open. */
  readonly signal?: AbortSignal;
}

/** Where notifications are to go. */
interface Hook {
  readonly id?: string;
  readonly url: string;
  readonly token?: string;
}

/** A push config as the server gave it back. */
export interface SeenPush extends Hook {
  readonly taskId: string;
}

/** What a client saw. States are spelled as in 0.3, whichever version was spoken. */
export type Seen = SeenTask | SeenStatus | SeenArtifactUpdate | SeenMessage;

export interface SeenTask {
  readonly kind: "task";
  readonly taskId: string;
  readonly contextId: string;
  readonly state: TaskState;
  /** The words of the status. */
  readonly text: string;
  readonly artifacts: readonly SeenArtifact[];
  /** The words of each message so far. */
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

/** The words among the parts. */
export function textOf(parts: readonly SeenPart[]): string {
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}
