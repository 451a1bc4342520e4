import {
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
  connect,
  constants,
  createServer,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { createJsonLogger } from "@convoke/engine";
import { type ServeAgentOptions, serve } from "convoke";
import { onTestFinished } from "vitest";
import { checkedAgent } from "./check-agent.ts";
import { cardAt } from "./hostile-server.ts";
import { listenOn } from "./peer-server.ts";

type Metadata = Readonly<Record<string, string>>;

/** One fault of a gRPC server, in its requests or in its responses. */
export interface GrpcFault {
  readonly ask?: (metadata: Metadata) => Metadata;
  readonly answer?: (headers: Metadata) => Metadata;
}

/** Our server behind a gRPC address that modifies metadata; the card is elsewhere. */
export async function serveSpoiledGrpc(
  { ask = same, answer = same }: GrpcFault,
  options: ServeAgentOptions = {},
) {
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(checkedAgent, { port: 0, data: "memory", logger, ...options });
  onTestFinished(() => server.close());
  const upstream = connect(server.url);
  onTestFinished(() => upstream.destroy());
  const proxy = createServer();
  proxy.on("stream", (stream, headers) => {
    const { ":path": path, ":method": method } = headers;
    const sent = upstream.request({
      ...ask(metadataOf(headers)),
      ":path": path,
      ":method": method,
    });
    stream.pipe(sent);
    void forward(sent, stream, answer);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.close());
  const origin = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const card = await listenOn((_, response) => {
    const text = JSON.stringify(cardAt(origin, ["GRPC"]));
    const isExtended = options.extendedCard !== undefined;
    response.end(
      isExtended ? text.replace('"streaming"', '"extendedAgentCard":true,"streaming"') : text,
    );
  });
  onTestFinished(card.close);
  return { url: card.url, origin };
}

/** The upstream response is repeated with its trailers, or its headers if there are only those. */
async function forward(
  sent: ReturnType<ReturnType<typeof connect>["request"]>,
  stream: ServerHttp2Stream,
  answer: (headers: Metadata) => Metadata,
): Promise<void> {
  let trailers: Metadata = {};
  const head = new Promise<Metadata>((resolve) => {
    sent.on("response", (headers) => resolve(metadataOf(headers)));
  });
  sent.on("trailers", (told) => (trailers = metadataOf(told)));
  const headers = answer(await head);
  const body = await buffer(sent);
  const status = { [constants.HTTP2_HEADER_STATUS]: 200 };
  const isHeadersOnly = Object.keys(trailers).length === 0;
  stream.respond({ ...status, ...headers }, { endStream: isHeadersOnly, waitForTrailers: true });
  if (isHeadersOnly) return;
  stream.on("wantTrailers", () => stream.sendTrailers(answer(trailers) as OutgoingHttpHeaders));
  stream.end(body);
}

function metadataOf(headers: IncomingHttpHeaders): Metadata {
  const entries = Object.entries(headers).filter(([name]) => !name.startsWith(":"));
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

function same(metadata: Metadata): Metadata {
  return metadata;
}
