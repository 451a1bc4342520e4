import { connect } from "node:http2";
import { PROTO_CODECS, type PublicEvent, SseDecoder, type Task } from "@convoke/protocol";
import { GRPC_SERVICES } from "@convoke/protocol/grpc";
import { GrpcFrameReader, frameGrpcMessage } from "@convoke/protocol/internal";
import { OFFICIAL, type RestDialect } from "../rest/rest-dialect.ts";
import { DIALECTS, type Dialect, aMessage } from "../wire/dialect.ts";
import { rpcText } from "../wire/rpc.ts";

/** One connection of a client that knows only the wire, and everything it has received. */
export interface Connection {
  readonly received: readonly { readonly id: string; readonly event: PublicEvent }[];
  /** Resolves when it has ended, also if it was cut. */
  readonly ended: Promise<unknown>;
}

/** How a stream begins, and how it goes on after a cursor. */
export interface Interface {
  readonly name: string;
  readonly stream: (url: string, text: string) => Connection;
  readonly resume: (url: string, taskId: string, cursor: string) => Connection;
}

/** JSON-RPC, REST and gRPC, in 0.3 and 1.0, without our own client. */
export const INTERFACES: readonly Interface[] = [
  ...DIALECTS.map(jsonRpc),
  ...OFFICIAL.map(rest),
  ...OFFICIAL.map(grpc),
];

function jsonRpc(dialect: Dialect): Interface {
  const { methods, codec, version } = dialect;
  const decode = (body: unknown) => codec.decodeEvent((body as { result: unknown }).result);
  return {
    name: `JSON-RPC ${version}`,
    stream: (url, text) => {
      const body = rpcText(methods.stream, { message: aMessage(dialect, text) });
      return serverSentEvents(url, { method: "POST", body }, decode);
    },
    resume: (url, id, cursor) => {
      const body = rpcText(methods.subscribe, { id });
      return serverSentEvents(url, { method: "POST", body, headers: cursorOf(cursor) }, decode);
    },
  };
}

function rest({ name, prefix, message, codec, getCodec }: RestDialect): Interface {
  return {
    name: `REST ${name}`,
    stream: (url, text) => {
      const body = JSON.stringify({ message: message(text) });
      const path = `${url}${prefix}message:stream`;
      return serverSentEvents(path, { method: "POST", body }, (json) => codec.decodeEvent(json));
    },
    resume: (url, id, cursor) =>
      serverSentEvents(
        `${url}${prefix}tasks/${id}:subscribe`,
        { headers: cursorOf(cursor) },
        (json) => getCodec.decodeEvent(json),
      ),
  };
}

/** Bare HTTP/2: the cursor of an event is in its metadata, and goes back as metadata of the call. */
function grpc({ name, message }: RestDialect): Interface {
  const version = name === "1.0" ? name : "0.3";
  const { methods } = GRPC_SERVICES[version];
  const call = (operation: string, json: object, url: string, headers = {}): Connection => {
    const method = methods.find((row) => row.operation === operation)!;
    const session = connect(url);
    session.on("error", () => undefined);
    const stream = session.request({
      ":method": "POST",
      ":path": method.path,
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    });
    stream.end(frameGrpcMessage(method.encodeRequest(json)));
    const reader = new GrpcFrameReader({ maxBytes: 1e6, fail: (problem) => new Error(problem) });
    return connection(async (add) => {
      try {
        for await (const piece of stream) {
          for (const bytes of reader.push(piece as Uint8Array)) {
            const json = method.decodeResponse(bytes);
            add(cursorIn(json), PROTO_CODECS[version].decodeEvent(json));
          }
        }
      } finally {
        session.destroy();
      }
    });
  };
  const idOf = (taskId: string) =>
    version === "1.0" ? { id: taskId } : { name: `tasks/${taskId}` };
  return {
    name: `gRPC ${version}`,
    stream: (url, text) => call("sendStreamingMessage", { message: message(text) }, url),
    resume: (url, id, cursor) => call("subscribeToTask", idOf(id), url, cursorOf(cursor)),
  };
}

function cursorIn(message: unknown): string {
  const [event] = Object.values(message as Record<string, Pick<Task, "metadata">>);
  return String(event?.metadata?.["last-event-id"]);
}

function cursorOf(cursor: string): Readonly<Record<string, string>> {
  return { "last-event-id": cursor };
}

function serverSentEvents(
  url: string,
  init: RequestInit,
  decode: (json: unknown) => PublicEvent,
): Connection {
  return connection(async (add) => {
    const headers = { "content-type": "application/json", ...(init.headers as object) };
    const response = await fetch(url, { ...init, headers });
    const decoder = new SseDecoder();
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
      for (const { id, data } of decoder.push(piece)) add(id, decode(JSON.parse(data)));
    }
  });
}

function connection(
  read: (add: (id: string, event: PublicEvent) => void) => Promise<void>,
): Connection {
  const received: { id: string; event: PublicEvent }[] = [];
  const ended = read((id, event) => void received.push({ id, event })).catch(() => undefined);
  return { received, ended };
}
