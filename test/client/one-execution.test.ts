import { once } from "node:events";
import {
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
  connect as connectHttp2,
} from "node:http2";
import { type ConnectOptions, type RemoteAgent, connect } from "@convoke/client";
import { defineAgent, mount, serve } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import type { FaultReply } from "../client-faults/fault-scenario.ts";
import { type FaultSpeaking, startFaultyAgent } from "../client-faults/index.ts";
import { page, plainly, whole } from "../client-faults/replies/http.ts";
import { CLOSE, HALF_CLOSE, RESET } from "../client-faults/wire/move.ts";
import { type GrpcScript, refuse, startGrpcAgent } from "./a-grpc-agent.ts";

/** What a proxy does with the first message once the agent has worked on it; the next ones pass. */
interface Loss {
  readonly http?: FaultReply;
  readonly grpc?: GrpcScript;
  /** The answer says that the message was not processed, so the client may believe it. */
  readonly isRefusal?: true;
}

const text = (status: number, more: Readonly<Record<string, string>> = {}): FaultReply =>
  plainly("upstream connect error", { status, type: "text/plain", headers: more });

const httpStatus =
  (status: number, more: Readonly<Record<string, string>> = {}): GrpcScript =>
  (stream) => {
    stream.respond({ ":status": status, "content-type": "text/html", ...more });
    stream.end("<html></html>");
  };

const LOSSES: Readonly<Record<string, Loss>> = {
  "a bare 503": { http: text(503), grpc: httpStatus(503) },
  "a 503 with a numeric code in JSON": {
    http: plainly('{"code":503,"message":"upstream connect error"}', { status: 503 }),
  },
  "a 503 as a google.rpc.Status without details": {
    http: plainly('{"error":{"code":503,"status":"UNAVAILABLE","message":"x"}}', { status: 503 }),
  },
  "a 502": { http: page(502, "Bad Gateway"), grpc: httpStatus(502) },
  "a 504": { http: page(504, "Gateway Time-out"), grpc: httpStatus(504) },
  "a page": { http: page(200, "Please wait"), grpc: httpStatus(200) },
  "a reset": { http: () => [RESET], grpc: (stream) => stream.close(2) },
  "a closed connection": {
    http: () => [CLOSE],
    grpc: (stream) => stream.session?.destroy(),
  },
  "a half-closed connection": { http: () => [HALF_CLOSE] },
  "gRPC UNAVAILABLE": { grpc: (stream) => refuse(stream, { "grpc-status": "14" }) },
  "gRPC RESOURCE_EXHAUSTED": { grpc: (stream) => refuse(stream, { "grpc-status": "8" }) },
  "a 429": { http: text(429), grpc: httpStatus(429), isRefusal: true },
  "a 503 with Retry-After": {
    http: text(503, { "Retry-After": "0" }),
    grpc: httpStatus(503, { "retry-after": "0" }),
    isRefusal: true,
  },
  "gRPC UNAVAILABLE with a time to try again": {
    grpc: (stream) => refuse(stream, { "grpc-status": "14", "grpc-retry-pushback-ms": "1" }),
    isRefusal: true,
  },
};

/** An agent that counts how often it works. */
function aCounter() {
  let executions = 0;
  const agent = defineAgent({
    name: "Counter",
    description: "Charges 100 EUR.",
    run: ({ text: message }) => {
      executions += 1;
      return `charged for ${message}`;
    },
  });
  return { agent, executions: () => executions };
}

interface Behind {
  readonly remote: RemoteAgent;
  readonly executions: () => number;
}

interface ProxyOptions {
  readonly speaking: FaultSpeaking;
  readonly loss: Loss;
  /** Whether the card that passes says that messages are deduplicated. */
  readonly deduplicates: boolean;
}

/** The agent behind a proxy that loses the answer to its first message. */
function behindProxy(options: ProxyOptions): Promise<Behind> {
  return options.speaking.binding === "GRPC" ? behindGrpcProxy(options) : behindHttpProxy(options);
}

async function behindHttpProxy({ speaking, loss, deduplicates }: ProxyOptions): Promise<Behind> {
  const { agent, executions } = aCounter();
  const mounted = await mount(agent, { data: "memory" });
  onTestFinished(() => mounted.close());
  const passes: FaultReply = async (call) => {
    const response = await call.behind();
    const content = await response.text();
    const all = Object.fromEntries(response.headers);
    const { "content-length": _, "content-type": type = "", ...headers } = all;
    const shown = deduplicates || call.step !== "card" ? content : forgetful(content);
    return whole(shown, { status: response.status, type, headers });
  };
  const loses: FaultReply = async (call) => {
    await passes(call);
    return loss.http!(call);
  };
  const proxy = await startFaultyAgent(
    {
      id: "a-lost-answer",
      sentence: "A proxy loses the answer to the first message.",
      speaks: [speaking],
      asks: "send",
      replies: {
        card: [passes],
        getTask: [passes],
        sendMessage: [loses, passes],
        sendStreamingMessage: [loses, passes],
      },
      right: { text: "" },
    },
    { behind: mounted.fetch },
  );
  onTestFinished(() => proxy.close());
  return { remote: await connectTo(proxy.url, speaking), executions };
}

async function behindGrpcProxy({ speaking, loss, deduplicates }: ProxyOptions): Promise<Behind> {
  const { agent, executions } = aCounter();
  const server = await serve(agent, { port: 0, data: "memory" });
  onTestFinished(() => server.close());
  let messages = 0;
  const proxy = await startGrpcAgent((near, headers) => {
    messages += 1;
    const isLost = messages === 1;
    void relay(server.url, near, headers).then((pass) =>
      isLost ? loss.grpc!(near, headers) : pass(),
    );
  }, speaking.version);
  const card = await (await fetch(new URL("/.well-known/agent-card.json", server.url))).text();
  const shown = JSON.parse(deduplicates ? card : forgetful(card)) as object;
  const { supportedInterfaces } = proxy.card;
  return { remote: await connectTo({ ...shown, supportedInterfaces }, speaking), executions };
}

/** Lets the agent answer a call; returns what passes its answer on. */
async function relay(
  url: string,
  near: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): Promise<() => void> {
  const session = connectHttp2(url);
  const far = session.request(headers);
  let head: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders = {};
  const chunks: Buffer[] = [];
  far.on("response", (received) => (head = received));
  far.on("trailers", (received) => (trailers = received));
  far.on("data", (chunk: Buffer) => chunks.push(chunk));
  near.pipe(far);
  await once(far, "close");
  session.close();
  return () => {
    near.respond(head, { waitForTrailers: true });
    near.on("wantTrailers", () => near.sendTrailers(trailers));
    near.end(Buffer.concat(chunks));
  };
}

function connectTo(
  target: string | object,
  { version, binding }: FaultSpeaking,
): Promise<RemoteAgent> {
  const bindings = { JSONRPC: "jsonrpc", "HTTP+JSON": "rest", GRPC: "grpc" } as const;
  const options: ConnectOptions = { cache: false, version, bindings: [bindings[binding]] };
  return connect(target as Parameters<typeof connect>[0], options);
}

/** The card of an agent that does not deduplicate. */
function forgetful(card: string): string {
  return card.replaceAll("extensions/idempotency", "extensions/none");
}

const WAYS = {
  send: (remote: RemoteAgent) => remote.send("Ann", { reconnect: { forMs: 20_000 } }),
  stream: (remote: RemoteAgent) => remote.stream("Ann", { reconnect: { forMs: 20_000 } }).result,
} as const;

const BINDINGS = ["JSONRPC", "HTTP+JSON", "GRPC"] as const;

const ROWS = BINDINGS.flatMap((binding) =>
  Object.entries(LOSSES).flatMap(([name, loss]) => {
    if ((binding === "GRPC" ? loss.grpc : loss.http) === undefined) return [];
    return (["send", "stream"] as const).map((way) => ({ binding, name, loss, way }));
  }),
);

describe("the answer to a message is lost after the agent has worked", () => {
  test.each(ROWS)("$binding, $way, $name: an agent that does not deduplicate", async (row) => {
    const { loss, way, binding } = row;
    const speaking = { version: "1.0", binding } as const;
    const { remote, executions } = await behindProxy({ speaking, loss, deduplicates: false });

    const answer = await WAYS[way](remote).catch((error: unknown) => error);

    if (loss.isRefusal) expect(answer).toMatchObject({ text: "charged for Ann" });
    else expect(answer).toBeInstanceOf(Error);
    // Only a proxy that says that nothing was processed is believed.
    expect(executions()).toBe(loss.isRefusal ? 2 : 1);
  });

  test.each(ROWS)("$binding, $way, $name: an agent that deduplicates", async (row) => {
    const { loss, way, binding, name } = row;
    const speaking = { version: "1.0", binding } as const;
    const { remote, executions } = await behindProxy({ speaking, loss, deduplicates: true });

    const answer = await WAYS[way](remote).catch((error: unknown) => error);

    // A page in place of an answer is an answer that cannot be understood.
    if (name === "a page") expect(answer).toMatchObject({ kind: "unreadable" });
    else expect(answer).toMatchObject({ text: "charged for Ann" });
    expect(executions()).toBe(1);
  });
});
