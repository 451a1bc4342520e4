import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type Codec, sseDataFrame } from "@convoke/protocol";
import { sleep } from "@convoke/protocol/internal";
import { at } from "../wire/json.ts";
import {
  type Answer,
  type ErrorAnswer,
  type JsonAnswer,
  type RawAnswer,
  type StreamAnswer,
  codecFor,
} from "./answer.ts";
import type { SeenRequest, Speaking } from "./seen-request.ts";

/** An HTTP request that is being answered. */
export interface HttpExchange {
  readonly request: SeenRequest;
  readonly response: ServerResponse;
  readonly speaking: Speaking;
  /** Aborts when the client has closed the connection, or the server closes. */
  readonly signal: AbortSignal;
}

/** Sends an answer in the form of the binding and version. */
export async function playHttp(answer: Answer, exchange: HttpExchange): Promise<void> {
  await send(await toRaw(answer, exchange), exchange);
}

async function toRaw(answer: Answer, exchange: HttpExchange): Promise<RawParts> {
  switch (answer.kind) {
    case "json":
      return jsonParts(answer, exchange);
    case "stream":
      return streamParts(answer, exchange);
    case "error":
      return errorParts(answer, exchange);
    case "raw":
      return { ...answer, body: answer.body ?? [] };
    default:
      return answer satisfies never;
  }
}

interface RawParts extends Omit<RawAnswer, "kind" | "body"> {
  readonly body: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;
}

async function send(parts: RawParts, { response, signal }: HttpExchange): Promise<void> {
  const { status, headers = {}, body, ending = "end" } = parts;
  response.writeHead(status, headers).flushHeaders();
  for await (const piece of body) {
    if (signal.aborted) return;
    if (!response.write(piece)) await once(response, "drain", { signal });
  }
  if (ending === "end") response.end();
  // What was written is still sent.
  else if (ending === "cut") response.socket?.destroySoon();
}

async function jsonParts(answer: JsonAnswer, exchange: HttpExchange): Promise<RawParts> {
  const { encode, headers, delayMs = 0 } = answer;
  const { request, speaking, signal } = exchange;
  await sleep(delayMs, signal);
  const id = "id" in answer ? answer.id : at(request.json, "id");
  const body = JSON.stringify(wrapped(encode(codecFor(speaking)), speaking, id));
  return { status: 200, headers: { "content-type": "application/json", ...headers }, body: [body] };
}

/** JSON-RPC has an envelope around every result. */
function wrapped(result: unknown, { binding }: Speaking, id: unknown): unknown {
  return binding === "jsonrpc" ? { jsonrpc: "2.0", id: id ?? null, result } : result;
}

function streamParts(answer: StreamAnswer, exchange: HttpExchange): RawParts {
  const { headers, ending = "end", write, pauseMs } = answer;
  const frames = framesOf(answer, exchange);
  const pieces = write?.(frames) ?? frames;
  return {
    status: 200,
    headers: { "content-type": "text/event-stream", "cache-control": "no-cache", ...headers },
    body: pauseMs === undefined ? pieces : withPause([...pieces], pauseMs, exchange.signal),
    ending,
  };
}

function framesOf(answer: StreamAnswer, { request, speaking }: HttpExchange): readonly string[] {
  const codec: Codec = codecFor(speaking);
  const id = at(request.json, "id");
  return answer.events.map((event, place) => {
    const json = codec.encodeEvent(event);
    const changed = answer.change?.(json, place) ?? json;
    return sseDataFrame(JSON.stringify(wrapped(changed, speaking, id)));
  });
}

async function* withPause<Piece>(
  pieces: readonly Piece[],
  ms: number,
  signal: AbortSignal,
): AsyncGenerator<Piece, void> {
  yield* pieces.slice(0, -1);
  await sleep(ms, signal);
  yield* pieces.slice(-1);
}

/** JSON-RPC errors have status 200, except those of the transport (1.0 §9.5, §11.6; 0.3 §8). */
function errorParts({ error }: ErrorAnswer, { request, speaking }: HttpExchange): RawParts {
  const { binding, version } = speaking;
  const { code, message, data } = codecFor(speaking).encodeError(error);
  const { http, grpc, transport } = error.row;
  const id = at(request.json, "id") ?? null;
  const body = {
    jsonrpc: { jsonrpc: "2.0", id, error: { code, message, data } },
    rest:
      version === "0.3"
        ? { code, message, data }
        : { error: { code: http, status: grpc, message, details: data } },
  }[binding === "jsonrpc" ? "jsonrpc" : "rest"];
  return {
    status: binding === "jsonrpc" && transport !== true ? 200 : http,
    headers: {
      "content-type": "application/json",
      ...(http === 401 && { "www-authenticate": 'Bearer realm="probe"' }),
    },
    body: [JSON.stringify(body)],
  };
}
