import { A2AError } from "@convoke/protocol";
import { HEALTH_SERVICE, REFLECTION_PATHS, SERVICES, reflect } from "@convoke/protocol/grpc";
import { GrpcFrameReader, frameGrpcMessage } from "@convoke/protocol/internal";
import type { ByteSink, ByteStream, HttpRequest, HttpResponse } from "../../http/exchange.ts";
import type { Admission } from "../../guard/admission.ts";
import type { App } from "../app.ts";
import {
  HEADERS,
  OK_TRAILERS,
  allocate,
  failedResponse,
  frameError,
  readMessage,
  unaryResponse,
} from "./handle.ts";

/**
 * The services for tools: health for the probes of an orchestrator, which have no token, and server
 * reflection for clients such as grpcurl.
 */
export async function handleGrpcTools(
  app: App,
  request: HttpRequest,
  admission: Admission,
): Promise<HttpResponse> {
  admission.name("grpc", "tools");
  try {
    if (!request.isHttp2) throw new A2AError("UnsupportedOperation", "gRPC needs HTTP/2");
    if (request.path === `/${HEALTH_SERVICE.name}/Check`) return await checkHealth(app, request);
    if (request.path === `/${HEALTH_SERVICE.name}/Watch`) return await watchHealth(app, request);
    await admission.identify();
    await admission.count("read");
    const { node } = request;
    if (REFLECTION_PATHS.has(request.path) && node !== undefined) {
      return streamResponse(new ReflectionStream(node, app.engine.closing));
    }
    throw new A2AError("MethodNotFound", `there is no method ${request.path}`, {
      details: { method: request.path },
    });
  } catch (thrown) {
    return failedResponse(admission.toError(thrown), "1.0", app.specPatch);
  }
}

function streamResponse(body: ByteStream): HttpResponse {
  return { status: 200, headers: HEADERS, body, trailers: () => OK_TRAILERS };
}

const KNOWN: ReadonlySet<string> = new Set(["", ...SERVICES]);

async function checkHealth(app: App, request: HttpRequest): Promise<HttpResponse> {
  const service = HEALTH_SERVICE.decodeRequest(readMessage(await request.body()));
  // The protocol wants NOT_FOUND, which is the status of this error.
  if (!KNOWN.has(service)) throw new A2AError("TaskNotFound", `there is no service ${service}`);
  return unaryResponse(HEALTH_SERVICE.encodeResponse(statusOf(app)));
}

function statusOf({ engine }: App): "SERVING" | "NOT_SERVING" {
  return engine.unreadyReason === undefined ? "SERVING" : "NOT_SERVING";
}

/** How often a watched status is compared. */
const WATCH_MS = 1000;

async function watchHealth(app: App, request: HttpRequest): Promise<HttpResponse> {
  const service = HEALTH_SERVICE.decodeRequest(readMessage(await request.body()));
  const { closing } = app.engine;
  return streamResponse({
    open(sink) {
      let last: string | undefined;
      const send = (): void => {
        const status = KNOWN.has(service) ? statusOf(app) : "SERVICE_UNKNOWN";
        if (status !== last) sink.write(framed(HEALTH_SERVICE.encodeResponse(status)));
        last = status;
      };
      const timer = setInterval(send, WATCH_MS).unref();
      const stop = (): void => {
        clearInterval(timer);
        closing.removeEventListener("abort", end);
      };
      const end = (): void => {
        stop();
        send();
        sink.end();
      };
      send();
      closing.addEventListener("abort", end, { once: true });
      return { drained: () => undefined, closed: stop };
    },
  });
}

function framed(message: Uint8Array): Uint8Array {
  return frameGrpcMessage(message, allocate);
}

/** Requests are names of files and symbols. */
const MAX_REQUEST_BYTES = 64 * 1024;

/** Answers each message of the client while the client is still sending. */
class ReflectionStream implements ByteStream {
  readonly #incoming: NonNullable<HttpRequest["node"]>;
  readonly #closing: AbortSignal;
  readonly #reader = new GrpcFrameReader({ maxBytes: MAX_REQUEST_BYTES, fail: frameError });

  constructor(incoming: NonNullable<HttpRequest["node"]>, closing: AbortSignal) {
    this.#incoming = incoming;
    this.#closing = closing;
  }

  open(sink: ByteSink): ReturnType<ByteStream["open"]> {
    const incoming = this.#incoming;
    const end = (): void => {
      stop();
      sink.end();
    };
    const stop = (): void => {
      incoming.off("data", answer);
      incoming.off("end", end);
      this.#closing.removeEventListener("abort", end);
    };
    const answer = (piece: Uint8Array): void => {
      try {
        const answers = this.#reader.push(piece).map((message) => framed(reflect(message)));
        if (answers.length > 0 && !sink.write(Buffer.concat(answers))) incoming.pause();
      } catch {
        // Not a message of reflection: there is nothing to answer.
        end();
      }
    };
    incoming.on("data", answer);
    incoming.on("end", end);
    this.#closing.addEventListener("abort", end, { once: true });
    return { drained: () => incoming.resume(), closed: stop };
  }
}
