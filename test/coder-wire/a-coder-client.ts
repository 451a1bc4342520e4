import { createMemoryBackend } from "@convoke/engine/memory";
import {
  type Agent,
  type ArtifactUpdateEvent,
  type DataPart,
  type Message,
  type Metadata,
  SseDecoder,
  type StatusUpdateEvent,
  type Task,
} from "@convoke/protocol";
import { type ServeOptions, serve } from "@convoke/server";
import { randomUUID } from "node:crypto";
import { onTestFinished } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";

/** One frame of a stream. */
export interface CoderFrame {
  /** The cursor of the frame. */
  readonly cursor: string;
  /** The id of the JSON-RPC response. */
  readonly rpcId: string | number | null;
  readonly event: StatusUpdateEvent | ArtifactUpdateEvent | Task;
  readonly error?: { readonly code: number; readonly message: string };
}

/** The response to a request that is not a stream. */
export interface CoderResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: unknown;
}

/** Serves an agent, and returns a client of it. The server is stopped when the test ends. */
export async function coderClient(
  agent: Agent,
  options: Partial<ServeOptions> = {},
): Promise<CoderClient> {
  const server = await serve(agent, {
    port: 0,
    host: "127.0.0.1",
    logger: memoryLogger(),
    openBackend: async () => createMemoryBackend(),
    ...options,
  });
  onTestFinished(() => server.close());
  return new CoderClient(server.url.replace(/\/$/, ""));
}

/** A client that knows the wire formats and nothing of our code. */
export class CoderClient {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    this.url = url;
    this.headers = headers;
  }

  /** The same client with more headers. */
  with(headers: Readonly<Record<string, string>>): CoderClient {
    return new CoderClient(this.url, { ...this.headers, ...headers });
  }

  /** The same client with an active extension. */
  activating(uri: string): CoderClient {
    return this.with({ "x-a2a-extensions": uri });
  }

  async get(path: string): Promise<CoderResponse> {
    return readResponse(await fetch(this.url + path, { headers: this.headers }));
  }

  async post(path: string, body?: unknown): Promise<CoderResponse> {
    return readResponse(await this.#post(path, body));
  }

  async rpc<Result = Task>(
    method: string,
    params: unknown,
  ): Promise<{ result?: Result; error?: { code: number; message: string } }> {
    const { json } = await this.post("/", { jsonrpc: "2.0", id: 1, method, params });
    return json as { result?: Result };
  }

  async send(message: Partial<Message>): Promise<Task> {
    const { result, error } = await this.rpc("message/send", { message: aMessage(message) });
    if (result === undefined) throw new Error(error?.message);
    return result;
  }

  /** The frames of a stream of JSON-RPC. */
  stream(message: Partial<Message>): Promise<readonly CoderFrame[]> {
    const params = { message: aMessage(message) };
    return this.frames("/", { jsonrpc: "2.0", id: 1, method: "message/stream", params });
  }

  /** The frames of a stream, to its end. */
  async frames(path: string, body: unknown): Promise<readonly CoderFrame[]> {
    const response = await this.#post(path, body);
    return readFrames(await response.text());
  }

  #post(path: string, body: unknown): Promise<Response> {
    return fetch(this.url + path, {
      method: "POST",
      headers: { ...this.headers, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }
}

async function readResponse(response: Response): Promise<CoderResponse> {
  const { status, headers } = response;
  const text = await response.text();
  const isJson = headers.get("content-type")?.includes("json") === true;
  return { status, headers, text, json: isJson ? JSON.parse(text) : undefined };
}

function readFrames(text: string): readonly CoderFrame[] {
  return new SseDecoder().push(text).map(({ id, data }) => {
    const { id: rpcId, result, error } = JSON.parse(data) as Metadata;
    return { cursor: id, rpcId, event: result, error } as CoderFrame;
  });
}

function aMessage(message: Partial<Message>): Partial<Message> {
  return { kind: "message", role: "user", messageId: randomUUID(), ...message };
}

/** A message of text. */
export function saying(text: string): Pick<Message, "parts"> {
  return { parts: [{ kind: "text", text }] };
}

/** A message of data parts, such as replies. */
export function sending(...data: readonly object[]): Pick<Message, "parts"> {
  return { parts: data.map((one) => ({ kind: "data", data: one })) };
}

/** The data of a frame, or of a message. */
export function dataIn(carrier: CoderFrame | Message): Metadata {
  const message =
    "event" in carrier ? (carrier.event as Partial<StatusUpdateEvent>).status?.message : carrier;
  const part = message?.parts.find((one) => one.kind === "data") as DataPart | undefined;
  return (part?.data ?? {}) as Metadata;
}

/** The kind of a frame in `metadata.coderAgent`, or of the event itself. */
export function kindOf({ event }: CoderFrame): string {
  const { coderAgent } = (event.metadata ?? {}) as { coderAgent?: { kind: string } };
  return coderAgent?.kind ?? event.kind;
}

/** The task of a stream. */
export function taskIdIn(frames: readonly CoderFrame[]): string {
  const { event } = frames[0]!;
  return event.kind === "task" ? event.id : event.taskId;
}
