import type { Message } from "./message.ts";
import type { Metadata } from "./part.ts";
import type { Task, TaskState } from "./task.ts";

/** Parameters of `sendMessage` and `sendStreamingMessage`. */
export interface SendMessageRequest {
  readonly message: Message;
  /** Whether the response waits for a terminal or interrupted state. Both versions default to true. */
  readonly blocking: boolean;
  readonly historyLength?: number;
  readonly acceptedOutputModes?: readonly string[];
  /** Where to push updates of the task, starting with this message. */
  readonly pushConfig?: PushTarget;
  readonly metadata?: Metadata;
  readonly tenant?: string;
}

export interface GetTaskRequest {
  readonly taskId: string;
  readonly historyLength?: number;
  /** Only JSON-RPC of 0.3 has a field for it (0.3 §7.3). */
  readonly metadata?: Metadata;
}

export interface ListTasksRequest {
  readonly contextId?: string;
  readonly state?: TaskState;
  /** Only tasks whose status changed at or after this time, ISO 8601. */
  readonly statusTimestampAfter?: string;
  /** 1 to 100, by default 50. */
  readonly pageSize: number;
  readonly pageToken?: string;
  readonly historyLength?: number;
  readonly includeArtifacts: boolean;
}

/** One page of `listTasks`, newest status first. */
export interface TaskPage {
  readonly tasks: readonly Task[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
  readonly pageSize: number;
  readonly totalSize: number;
}

export interface CancelTaskRequest {
  readonly taskId: string;
  readonly metadata?: Metadata;
}

export interface SubscribeRequest {
  readonly taskId: string;
}

export interface CreatePushConfigRequest {
  readonly taskId: string;
  readonly target: PushTarget;
}

export interface GetPushConfigRequest {
  readonly taskId: string;
  /** Required in 1.0; in 0.3 the server may choose one. */
  readonly id?: string;
}

/** 0.3 has no pages: there the response is the whole list. */
export interface ListPushConfigsRequest {
  readonly taskId: string;
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface PushConfigPage {
  readonly configs: readonly PushConfig[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

export interface DeletePushConfigRequest {
  readonly taskId: string;
  readonly id: string;
}

/** Where updates of a task are pushed to, as the caller specifies it (0.3 §6.8, 1.0 §4.3.1). */
export interface PushTarget {
  /** Distinguishes the configs of one task; the server chooses one if it is absent. */
  readonly id?: string;
  readonly url: string;
  /** Sent with each notification, so that the receiver can tell that it requested it. */
  readonly token?: string;
  readonly authentication?: PushAuthentication;
  /** Additional headers of each notification. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface PushAuthentication {
  /** HTTP authentication schemes, the preferred one first. 1.0 has exactly one. */
  readonly schemes: readonly string[];
  readonly credentials?: string;
}

/** A push target that is registered for a task. */
export interface PushConfig extends PushTarget {
  readonly taskId: string;
  readonly id: string;
}
