import type { IncomingMessage, ServerResponse } from "node:http";
import type { ByteStream, HttpRequest, HttpResponse } from "../http/exchange.ts";
import { readBody } from "./read-body.ts";

/** How long a client that is refused may go on sending, so that it can read why. */
const LINGER_MS = 2000;

export interface NodeListenerOptions {
  readonly handle: (request: HttpRequest) => Promise<HttpResponse>;
  readonly maxBodyBytes: number;
  /** An id for each request; the answer carries it and so does the log. */
  readonly newRequestId: () => string;
  readonly onAnswer: (facts: AnswerFacts) => void;
}

/** What the log says of a request: nothing of its content. */
interface AnswerFacts {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

/** Translates between `node:http` and the transport-neutral handler; knows nothing else. */
export function createNodeListener(
  options: NodeListenerOptions,
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  const { handle, maxBodyBytes, newRequestId, onAnswer } = options;
  return (incoming, outgoing) => {
    const requestId = newRequestId();
    const request = requestOf(incoming, maxBodyBytes);
    void handle(request).then(
      (response) => {
        const { method, path } = request;
        onAnswer({ requestId, method, path, status: response.status });
        answer(incoming, outgoing, response, requestId);
      },
      // A server that could not start has no answer; whoever started it is told why.
      () => outgoing.destroy(),
    );
  };
}

function requestOf(incoming: IncomingMessage, maxBodyBytes: number): HttpRequest {
  const target = incoming.url ?? "/";
  const mark = target.indexOf("?");
  return {
    method: incoming.method ?? "GET",
    path: mark === -1 ? target : target.slice(0, mark),
    query: mark === -1 ? EMPTY_QUERY : new URLSearchParams(target.slice(mark + 1)),
    headers: incoming.headers,
    body: () => readBody(incoming, maxBodyBytes),
  };
}

const EMPTY_QUERY = new URLSearchParams();

function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, headers, body }: HttpResponse,
  requestId: string,
): void {
  if (outgoing.destroyed) return;
  const unread = !incoming.complete && incoming.method === "POST";
  const all = { ...headers, "x-request-id": requestId, ...(unread && { connection: "close" }) };
  if (typeof body !== "string") {
    outgoing.writeHead(status, all);
    return stream(outgoing, body);
  }
  const length = status === 304 ? {} : { "content-length": Buffer.byteLength(body) };
  outgoing.writeHead(status, { ...all, ...length });
  if (unread) linger(incoming, outgoing, body);
  else outgoing.end(incoming.method === "HEAD" ? undefined : body);
}

/**
 * Lets a refused client finish its sentence for a moment, then hangs up. The
 * answer is all there but ends later, because ending it closes the connection,
 * and a client that is still sending would lose what it has not read.
 */
function linger(incoming: IncomingMessage, outgoing: ServerResponse, body: string): void {
  outgoing.write(body);
  const timer = setTimeout(() => incoming.destroy(), LINGER_MS).unref();
  incoming.once("close", () => {
    clearTimeout(timer);
    outgoing.end();
  });
  incoming.resume();
}

function stream(outgoing: ServerResponse, body: ByteStream): void {
  // Headers first, so that a reader knows the stream is open before anything happens on it.
  outgoing.flushHeaders();
  const control = body.open({
    write: (text) => outgoing.write(text),
    end: () => outgoing.end(),
  });
  outgoing.on("drain", () => control.drained());
  outgoing.on("close", () => control.closed());
}
