import { setTimeout as sleep } from "node:timers/promises";
import {
  type A2APart,
  type AgentEvent,
  type Message,
  SseDecoder,
  type StatusUpdateEvent,
  type Task,
  type TaskState,
  isInterrupted,
  isTerminal,
  userMessage,
} from "@convoke/protocol";
import { type LoggedEvent, foldLog } from "./task-log.ts";

/** Knows the URL of the running server, or of the next one. */
export interface Directory {
  url(): Promise<string>;
}

/** The server answered with a JSON-RPC error. */
class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly code: number;

  constructor({ code, message }: { readonly code: number; readonly message: string }) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

/** The server cannot answer now: it stops, or its storage does not answer. */
class UnavailableError extends Error {
  override readonly name = "UnavailableError";
}

/** The task has already ended. */
const NOT_CANCELABLE = -32002;

/** How long a caller that lost the server waits before it retries. */
const RETRY_MS = 20;

/**
 * A client of one task that behaves correctly: without an answer it sends the message again with
 * the same id, and it resumes a stream after the last event that it has.
 */
export class Caller {
  readonly messageId: string;
  /** Every frame of every connection, in the order of arrival. */
  readonly frames: LoggedEvent[] = [];
  /** How many connections were lost. */
  losses = 0;
  readonly #directory: Directory;
  readonly #text: string;
  #requests = 0;
  #lastEventId = "";

  constructor(directory: Directory, messageId: string, text: string) {
    this.#directory = directory;
    this.messageId = messageId;
    this.#text = text;
  }

  /** The task built from the frames so far. */
  get task(): Task {
    return foldLog(this.frames);
  }

  /** The task's id, once the first frame has arrived. */
  get taskId(): string | undefined {
    const event = this.frames[0]?.event;
    return event?.kind === "task" ? (event as Task).id : undefined;
  }

  /** Sends the message and waits for the task to end or to ask. */
  send(): Promise<Task> {
    return this.call<Task>("message/send", { message: this.#message() });
  }

  /** Sends the message or resumes its stream, and resolves with the state of the stream's last event. */
  async follow(): Promise<TaskState> {
    return this.#insist(async (url) => {
      const response = await this.#post(url, ...this.#streamRequest());
      for await (const event of this.#frames(response)) {
        if (isLast(event)) return event.status.state;
      }
      // A server that stops ends its streams, so that clients reconnect.
      throw new UnavailableError(`the stream of ${this.messageId} ended without a last event`);
    });
  }

  /** Resolves when a frame matches. The frames come from a concurrent `follow`. */
  async until(fits: (event: AgentEvent) => boolean): Promise<void> {
    while (!this.frames.some(({ event }) => fits(event))) await sleep(5);
  }

  /** Resolves when there are more frames than this, from a concurrent `follow`. */
  async hasMoreThan(count: number): Promise<void> {
    while (this.frames.length <= count) await sleep(5);
  }

  /**
   * Answers the task's question, and waits for it to end or to ask again. The name distinguishes
   * several answers.
   */
  answer(taskId: string, content: string | readonly A2APart[], name = "answer"): Promise<Task> {
    const message = { ...userMessage(`${this.messageId}-${name}`, content), taskId };
    return this.call<Task>("message/send", { message });
  }

  /** The task as the server shows it. */
  get(taskId: string): Promise<Task> {
    return this.call<Task>("tasks/get", { id: taskId });
  }

  /** Cancels the task. "Already canceled" is the response to a client that has to ask twice. */
  async cancel(taskId: string): Promise<void> {
    await this.call<Task>("tasks/cancel", { id: taskId }).catch((error: unknown) => {
      if (error instanceof RefusedError && error.code === NOT_CANCELABLE) return;
      throw error;
    });
  }

  /** Either method resumes a stream, so they alternate. */
  #streamRequest(): readonly [method: string, params: object, lastEventId?: string] {
    const send = ["message/stream", { message: this.#message() }] as const;
    if (this.taskId === undefined) return send;
    const lastEventId = this.#lastEventId;
    return this.#requests % 2 === 0
      ? ["tasks/resubscribe", { id: this.taskId }, lastEventId]
      : [...send, lastEventId];
  }

  #message(): Message {
    return userMessage(this.messageId, this.#text);
  }

  /** Calls a method until there is a response. */
  call<T>(method: string, params: object): Promise<T> {
    return this.#insist(async (url) => {
      const response = await this.#post(url, method, params);
      return resultOf<T>(await response.text());
    });
  }

  /** Retries until there is a response, across restarts of the server. */
  async #insist<T>(attempt: (url: string) => Promise<T>): Promise<T> {
    for (;;) {
      const url = await this.#directory.url();
      try {
        return await attempt(url);
      } catch (error) {
        const isUnavailable = error instanceof UnavailableError;
        if (!isUnavailable && !isConnectionLoss(error)) throw error;
        this.losses++;
        await sleep(RETRY_MS);
      }
    }
  }

  async #post(
    url: string,
    method: string,
    params: object,
    lastEventId?: string,
  ): Promise<Response> {
    const id = ++this.#requests;
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
    });
    if (response.status === 503) throw new UnavailableError(await response.text());
    return response;
  }

  async *#frames(response: Response): AsyncGenerator<AgentEvent> {
    if (response.headers.get("content-type") !== "text/event-stream" || response.body === null) {
      resultOf(await response.text());
      throw new Error("there is no stream");
    }
    const decoder = new SseDecoder();
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      for (const { id, data } of decoder.push(piece)) {
        const event = resultOf<AgentEvent>(data);
        // Servers that share a database add an epoch to the sequence.
        this.frames.push({ id: Number.parseInt(id), event });
        this.#lastEventId = id;
        yield event;
      }
    }
  }
}

function resultOf<T>(body: string): T {
  const answer = JSON.parse(body) as {
    readonly result?: T;
    readonly error?: { readonly code: number; readonly message: string };
  };
  if (answer.error !== undefined) throw toError(answer.error);
  return answer.result as T;
}

/** A stream that has begun ends with an error if the storage does not answer: it has no status. */
function toError(error: { readonly code: number; readonly message: string }): Error {
  const isUnavailable = error.message.startsWith("Service unavailable");
  return isUnavailable ? new UnavailableError(error.message) : new RefusedError(error);
}

/** What `fetch` and its bodies throw if the server is gone. */
function isConnectionLoss(error: unknown): boolean {
  return error instanceof TypeError && /^(fetch failed|terminated)$/.test(error.message);
}

/** Whether the stream has nothing more to say: also if it has started again with a task that has ended or asks. */
function isLast(event: AgentEvent): event is StatusUpdateEvent | Task {
  if (event.kind === "status-update") return (event as StatusUpdateEvent).final;
  return isReset(event) && (isTerminal(event.status.state) || isInterrupted(event.status.state));
}

/** Whether it is a task that replaces everything before, because the cursor of the caller is unknown. */
export function isReset(event: AgentEvent): event is Task {
  return event.kind === "task" && (event as Task).metadata?.["resumption"] === "reset";
}
