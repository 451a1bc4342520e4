import type { Message } from "./message.ts";
import type { Metadata } from "./part.ts";
import type { PushConfig, PushTarget } from "./push-config.ts";
import type { Task, TaskState } from "./task.ts";

/** What a caller asks of `sendMessage` and `sendStreamingMessage`. */
export interface SendMessageRequest {
  readonly message: Message;
  /** Whether the answer waits for a terminal or interrupted state. Both versions default to true. */
  readonly blocking: boolean;
  readonly historyLength?: number;
  readonly acceptedOutputModes?: readonly string[];
  /** Where to push the updates of the task, from its start or from here on. */
  readonly pushConfig?: PushTarget;
  readonly metadata?: Metadata;
  readonly tenant?: string;
}

export interface GetTaskRequest {
  readonly taskId: string;
  readonly historyLength?: number;
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
  /** 1.0 always names one; 0.3 may leave it to the server. */
  readonly id?: string;
}

/** 0.3 has no pages: there the answer is the whole list. */
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
