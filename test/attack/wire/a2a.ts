import { randomUUID } from "node:crypto";
import { Transcript, type WireHeaders, createWireClient } from "@convoke/check/wire";
import {
  CODECS,
  type Codec,
  type Message,
  type OperationName,
  PROTO_CODECS,
  type SendMessageRequest,
  userMessage,
} from "@convoke/protocol";
import { NotApplicable, needed } from "../attack.ts";
import type { AgentInterface, Target } from "../target.ts";

/** How a call ended, whatever its binding. */
export interface Answer {
  readonly isResult: boolean;
  /** Everything that was received, as text. */
  readonly text: string;
  /** The HTTP status, or 0 if the binding hides it. */
  readonly http: number;
  /** The gRPC status; 0 elsewhere. */
  readonly grpc: number;
  /** The task or message of a result. */
  readonly result: unknown;
}

const STREAMS: ReadonlySet<OperationName> = new Set(["sendStreamingMessage", "subscribeToTask"]);

/** A caller of one interface with certain credentials. Its requests may be as wrong as one likes. */
export class Caller {
  readonly at: AgentInterface;
  readonly codec: Codec;
  readonly #headers: WireHeaders;

  constructor(at: AgentInterface, headers: WireHeaders = {}) {
    this.at = at;
    this.codec = (at.binding === "jsonrpc" ? CODECS : PROTO_CODECS)[at.version];
    this.#headers = headers;
  }

  /** One call; of a stream, the first event. A broken connection is an answer, too. */
  async call(
    operation: OperationName,
    params: unknown,
    headers: WireHeaders = {},
  ): Promise<Answer> {
    const client = createWireClient({
      target: { ...this.at, tenant: "", headers: this.#headers },
      signal: AbortSignal.timeout(60_000),
      transcript: new Transcript(),
    });
    try {
      if (STREAMS.has(operation)) {
        const opened = await client.open({ operation, params, headers });
        if (opened.kind === "error") return answerOf(opened.error, opened.body);
        const { value } = await opened.events.next();
        await opened.events.return();
        if (value?.error !== undefined) return answerOf(value.error, value.envelope);
        return toResult(value?.json ?? null);
      }
      const response = await client.call({ operation, params, headers });
      return response.kind === "error"
        ? answerOf(response.error, response.body)
        : toResult(response.result);
    } catch (error) {
      // The check client reports what it cannot read as a failure of the server.
      const received = (error as { readonly exchange?: { readonly received: string } }).exchange;
      const text = received?.received ?? String(error);
      return { isResult: false, text, http: Number.parseInt(text, 10) || 0, grpc: 0, result: null };
    }
  }

  async send(message: Message | string, more: Partial<SendMessageRequest> = {}): Promise<Answer> {
    const sent = typeof message === "string" ? aMessage(message) : message;
    return this.call(
      "sendMessage",
      this.codec.encodeSendMessage({ message: sent, blocking: true, ...more }),
    );
  }

  /** Sends a message and returns the id of its task. */
  async startTask(message: Message | string): Promise<string> {
    const answer = await this.send(message);
    if (!answer.isResult) throw new Error(`no task was started: ${answer.text.slice(0, 300)}`);
    return needed(taskIdIn(answer), "tasks: the agent answers with messages only");
  }

  get(taskId: string): Promise<Answer> {
    return this.call("getTask", this.codec.encodeGetTask({ taskId }));
  }
}

function toResult(result: unknown): Answer {
  return { isResult: true, text: JSON.stringify(result), http: 200, grpc: 0, result };
}

function answerOf(
  error: { readonly http?: number; readonly grpc?: number; readonly message: string },
  body: unknown,
): Answer {
  const text = `${error.message} ${JSON.stringify(body)}`;
  return { isResult: false, text, http: error.http ?? 0, grpc: error.grpc ?? 0, result: null };
}

/** Whether credentials were rejected: 401 or 403, the same in gRPC, or an error that says so. */
export function isUnauthorized({ isResult, http, grpc, text }: Answer): boolean {
  if (isResult) return false;
  const isStatus = http === 401 || http === 403 || grpc === 16 || grpc === 7;
  return isStatus || /unauthorized|unauthenticated|forbidden/i.test(text);
}

/** The id of the task in a result of either version. */
export function taskIdIn({ result }: Answer): string | undefined {
  const outer = (result ?? {}) as { readonly task?: object };
  const { id } = (outer.task ?? outer) as { readonly id?: string };
  return id;
}

/** An id that no server has given to a task. */
export const UNKNOWN_ID = "00000000-0000-4000-8000-000000000000";

/** A text that occurs nowhere else. */
export function aCanary(): string {
  return `canary-${randomUUID()}`;
}

export function aMessage(text: string, more: Partial<Message> = {}): Message {
  return { ...userMessage(randomUUID(), text), ...more };
}

/** Both callers of the target. */
export function callersOf(target: Target): NonNullable<Target["callers"]> {
  return needed(target.callers, "credentials of two callers");
}

/** Headers with which requests are accepted; none if the target accepts everybody. */
export function annOf(target: Target): WireHeaders {
  return target.callers?.ann ?? {};
}

/** The interface that has no oddities of its own: JSON-RPC, if possible of 1.0. */
export function mainInterface({ interfaces }: Target): AgentInterface {
  const json = interfaces.filter(({ binding }) => binding === "jsonrpc");
  const found = json.find(({ version }) => version === "1.0") ?? json[0];
  if (found === undefined) throw new NotApplicable("JSON-RPC");
  return found;
}

/** Ann on the main interface. */
export function ann(target: Target): Caller {
  return new Caller(mainInterface(target), annOf(target));
}

/** Every operation on a task, on each interface that has it. */
export const TASK_OPERATIONS: Readonly<
  Partial<Record<OperationName, (codec: Codec, taskId: string) => unknown>>
> = {
  getTask: (codec, taskId) => codec.encodeGetTask({ taskId }),
  cancelTask: (codec, taskId) => codec.encodeCancelTask({ taskId }),
  subscribeToTask: (codec, taskId) => codec.encodeSubscribe({ taskId }),
  sendMessage: (codec, taskId) =>
    codec.encodeSendMessage({ message: aMessage("intruder", { taskId }), blocking: true }),
  sendStreamingMessage: (codec, taskId) =>
    codec.encodeSendMessage({ message: aMessage("intruder", { taskId }), blocking: true }),
  createPushConfig: (codec, taskId) =>
    codec.encodeCreatePushConfig({ taskId, target: { url: "https://example.com/hook" } }),
  getPushConfig: (codec, taskId) => codec.encodeGetPushConfig({ taskId, id: "one" }),
  listPushConfigs: (codec, taskId) => codec.encodeListPushConfigs({ taskId }),
  deletePushConfig: (codec, taskId) => codec.encodeDeletePushConfig({ taskId, id: "one" }),
};

/** Whether a version has the operation: 0.3 has no lists. */
export function hasOperation({ version }: AgentInterface, operation: OperationName): boolean {
  return version === "1.0" || operation !== "listTasks";
}

/** Both callers at each interface. */
export function pairs(target: Target) {
  const callers = callersOf(target);
  return target.interfaces.map((at) => ({
    at,
    ann: new Caller(at, callers.ann),
    bob: new Caller(at, callers.bob),
  }));
}

/** An interface, as reasons name it. */
export function nameOf({ binding, version }: AgentInterface): string {
  return `${binding} ${version}`;
}
