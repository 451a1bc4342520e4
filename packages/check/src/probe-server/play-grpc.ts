import type { ServerHttp2Stream } from "node:http2";
import { type A2AError, CODECS, GRPC_STATUS } from "@convoke/protocol";
import { type GrpcMethod, encodeStatusDetails } from "@convoke/protocol/grpc";
import { frameGrpcMessage, sleep } from "@convoke/protocol/internal";
import { type Answer, type StreamAnswer, codecFor } from "./answer.ts";
import type { Speaking } from "./seen-request.ts";

/** A gRPC call that is being answered. */
export interface GrpcExchange {
  readonly stream: ServerHttp2Stream;
  readonly method: GrpcMethod;
  readonly speaking: Speaking;
  readonly signal: AbortSignal;
}

const HEAD = { ":status": 200, "content-type": "application/grpc" };

/** Sends an answer to a gRPC call. */
export async function playGrpc(answer: Answer, exchange: GrpcExchange): Promise<void> {
  const { stream, method, speaking, signal } = exchange;
  switch (answer.kind) {
    case "json": {
      await sleep(answer.delayMs ?? 0, signal);
      start(stream);
      stream.write(frameGrpcMessage(method.encodeResponse(answer.encode(codecFor(speaking)))));
      stream.end();
      break;
    }
    case "stream":
      await playStream(answer, exchange);
      break;
    case "error":
      rejectGrpc(stream, answer.error);
      break;
    case "raw":
      throw new TypeError("a probe with raw HTTP responses cannot have a gRPC interface");
    default:
      answer satisfies never;
  }
}

function start(stream: ServerHttp2Stream): void {
  stream.respond(HEAD, { waitForTrailers: true });
  stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
}

async function playStream(answer: StreamAnswer, exchange: GrpcExchange): Promise<void> {
  const { stream, method, speaking, signal } = exchange;
  const { events, pauseMs, ending = "end" } = answer;
  start(stream);
  for (const [place, event] of events.entries()) {
    if (place === events.length - 1 && pauseMs !== undefined) await sleep(pauseMs, signal);
    if (stream.destroyed) return;
    const json = codecFor(speaking).encodeEvent(event);
    stream.write(frameGrpcMessage(method.encodeResponse(answer.change?.(json, place) ?? json)));
  }
  if (ending === "end") stream.end();
  else if (ending === "cut") setImmediate(() => stream.session?.destroy());
}

/** Ends a call with an error and no message: headers that are also trailers. */
export function rejectGrpc(stream: ServerHttp2Stream, error: A2AError): void {
  const { message, data } = CODECS["1.0"].encodeError(error);
  const code = GRPC_STATUS.indexOf(error.row.grpc);
  const details = encodeStatusDetails({ code, message, details: data as readonly object[] });
  const status = {
    "grpc-status": String(code),
    "grpc-message": encodeURIComponent(message),
    "grpc-status-details-bin": Buffer.from(details).toString("base64"),
  };
  stream.respond({ ...HEAD, ...status }, { endStream: true });
}
