import { randomUUID } from "node:crypto";

/**
 * The extensions that the planner's callers activate, so that approvals and tool calls are data.
 */
const EXTENSIONS = [
  "https://convoke.dev/extensions/approvals/v1",
  "https://convoke.dev/extensions/client-tools/v1",
].join(", ");

export type Json = Readonly<Record<string, unknown>>;

/** One event of a stream, and the sequence number from which a stream is resumed. */
export interface Frame {
  readonly id: number;
  readonly result: Json;
}

/** A task in A2A 0.3, as far as the fixture uses it. */
export interface WireTask {
  readonly id: string;
  readonly contextId: string;
  readonly status: {
    readonly state: string;
    readonly message?: { readonly parts: readonly WirePart[] };
  };
  readonly artifacts?: readonly { readonly name?: string; readonly parts: readonly WirePart[] }[];
  readonly metadata?: Json;
}

export interface WirePart {
  readonly kind: string;
  readonly text?: string;
  readonly data?: Json;
  readonly metadata?: Json;
}

/** Calls A2A over plain HTTP, without our client: the fixture compares what any client receives. */
export class Caller {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** Sends a message and returns its task when that has ended or waits. */
  async send(content: string | readonly WirePart[], more: object = {}): Promise<WireTask> {
    const message = messageFrom(content, more);
    return (await this.rpc("message/send", { message })) as WireTask;
  }

  async get(taskId: string): Promise<WireTask> {
    return (await this.rpc("tasks/get", { id: taskId })) as WireTask;
  }

  /** The same task in A2A 1.0. */
  async getV1(taskId: string): Promise<Json> {
    const headers = { "a2a-version": "1.0", "a2a-extensions": EXTENSIONS };
    const response = await fetch(new URL(`tasks/${taskId}`, this.#url), { headers });
    return (await response.json()) as Json;
  }

  async rpc(method: string, params: object): Promise<unknown> {
    const response = await this.#post(method, params);
    const { result, error } = parseWire(await response.text()) as Json;
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  }

  /** Sends a message, and yields the events of its stream until it ends. */
  stream(params: object): AsyncGenerator<Frame> {
    return framesOf(this.#post("message/stream", params));
  }

  /**
   * The log of a task after an event, until the stream ends. The stream of a task that may resume
   * by itself, such as after a sign-in, stays open while the task waits: then `count` says when to
   * stop.
   */
  async resume(taskId: string, lastEventId: number, count = Infinity): Promise<readonly Frame[]> {
    const response = this.#post("tasks/resubscribe", { id: taskId }, lastEventId);
    const frames: Frame[] = [];
    for await (const frame of framesOf(response)) {
      frames.push(frame);
      if (frames.length >= count) break;
    }
    return frames;
  }

  #post(method: string, params: object, lastEventId?: number): Promise<Response> {
    return fetch(this.#url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-a2a-extensions": EXTENSIONS,
        ...(lastEventId !== undefined && { "last-event-id": String(lastEventId) }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
  }
}

/**
 * Parses JSON of the wire without `inputRequest`, which repeats a data part for early clients and
 * is added when an event is sent: later versions repeat more kinds of requests.
 */
export function parseWire(json: string): unknown {
  return JSON.parse(json, (key, value: unknown) => (key === "inputRequest" ? undefined : value));
}

export function messageFrom(content: string | readonly WirePart[], more: object = {}): object {
  const parts = typeof content === "string" ? [{ kind: "text", text: content }] : content;
  return { kind: "message", messageId: randomUUID(), role: "user", parts, ...more };
}

async function* framesOf(response: Promise<Response>): AsyncGenerator<Frame> {
  const { body } = await response;
  let rest = "";
  for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
    const events = (rest + chunk).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const frame = parseFrame(event);
      if (frame !== undefined) yield frame;
    }
  }
}

/** Keep-alive comments are not frames. */
function parseFrame(event: string): Frame | undefined {
  const id = /^id: ?(.*)$/m.exec(event)?.[1];
  const data = /^data: ?(.*)$/m.exec(event)?.[1];
  if (data === undefined) return undefined;
  const { result, error } = parseWire(data) as { readonly result?: Json; readonly error?: Json };
  if (result === undefined || id === undefined)
    throw new Error(`no event: ${JSON.stringify(error)}`);
  return { id: Number(id), result };
}
