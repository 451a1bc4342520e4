import { randomUUID } from "node:crypto";
import {
  CODECS,
  type Codec,
  type ListTasksRequest,
  type Message,
  PROTO_CODECS,
  type PushTarget,
  type SendMessageRequest,
  userMessage,
} from "@convoke/protocol";
import type { Target } from "../wire/call.ts";
import type { JsonObject } from "../wire/json.ts";

/** Params of every operation in the JSON of an interface. A probe spoils what it likes. */
export class Requests {
  readonly #codec: Codec;

  constructor({ binding, version }: Pick<Target, "binding" | "version">) {
    this.#codec = (binding === "jsonrpc" ? CODECS : PROTO_CODECS)[version];
  }

  /** Where the parts of a message are: REST and gRPC of 0.3 call them content. */
  get partsName(): "parts" | "content" {
    return this.#codec.dialect === "0.3-proto" ? "content" : "parts";
  }

  send(
    text: string,
    message: Partial<Message> = {},
    options: Partial<SendMessageRequest> = {},
  ): JsonObject {
    const whole = { ...userMessage(randomUUID(), text), ...message };
    return this.#codec.encodeSendMessage({
      message: whole,
      blocking: true,
      ...options,
    }) as JsonObject;
  }

  get(taskId: string, historyLength?: number): unknown {
    return this.#codec.encodeGetTask({
      taskId,
      ...(historyLength !== undefined && { historyLength }),
    });
  }

  list(request: Partial<ListTasksRequest> = {}): JsonObject {
    const whole = { pageSize: 50, includeArtifacts: false, ...request };
    return this.#codec.encodeListTasks(whole) as JsonObject;
  }

  cancel(taskId: string): unknown {
    return this.#codec.encodeCancelTask({ taskId });
  }

  subscribe(taskId: string): unknown {
    return this.#codec.encodeSubscribe({ taskId });
  }

  createPush(taskId: string, target: PushTarget): unknown {
    return this.#codec.encodeCreatePushConfig({ taskId, target });
  }

  getPush(taskId: string, id: string): unknown {
    return this.#codec.encodeGetPushConfig({ taskId, id });
  }

  listPush(taskId: string): unknown {
    return this.#codec.encodeListPushConfigs({ taskId });
  }

  deletePush(taskId: string, id: string): unknown {
    return this.#codec.encodeDeletePushConfig({ taskId, id });
  }
}
