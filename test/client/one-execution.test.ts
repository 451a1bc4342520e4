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
  /**
   * What the card that passes says about deduplication: nothing, that a header activates it, as servers
   * before this version, or that a message does, too.
   */
  readonly card: "nothing" | "by header" | "by message";
  /** A gateway that passes only headers that it knows. */
  readonly dropsHeaders?: boolean;
  /** The ordinal of the message whose answer is lost. Default: the first. */
  readonly lost?: number;
}

const EXTENSION_HEADERS = ["a2a-extensions", "x-a2a-extensions"];

/** The agent behind a proxy that loses the answer to its first message. */
function behindProxy(options: ProxyOptions): Promise<Behind> {
  return options.speaking.binding === "GRPC" ? behindGrpcProxy(options) : behindHttpProxy(options);
}

async function behindHttpProxy(options: ProxyOptions): Promise<Behind> {
  const { speaking, loss, lost = 1, dropsHeaders = false } = options;
  const { agent, executions } = aCounter();
  const mounted = await mount(agent, { data: "memory" });
  onTestFinished(() => mounted.close());
  const passes: FaultReply = async (call) => {
    const response = await call.behind();
    const content = await response.text();
    const all = Object.fromEntries(response.headers);
    const { "content-length": _, "content-type": type = "", ...headers } = all;
    const shown = call.step === "card" ? cardOf(options, content) : content;
    return whole(shown, { status: response.status, type, headers });
  };
  const loses: FaultReply = async (call) => {
    await passes(call);
    return loss.http!(call);
  };
  const answers = [...Array<FaultReply>(lost - 1).fill(passes), loses, passes];
  const proxy = await startFaultyAgent(
    {
      id: "a-lost-answer",
      sentence: "A proxy loses the answer to the first message.",
      speaks: [speaking],
      asks: "send",
      replies: {
        card: [passes],
        getTask: [passes],
        sendMessage: answers,
        sendStreamingMessage: answers,
      },
      right: { text: "" },
    },
    {
      behind: (request) => {
        if (dropsHeaders) for (const name of EXTENSION_HEADERS) request.headers.delete(name);
        return mounted.fetch(request);
      },
    },
  );
  onTestFinished(() => proxy.close());
  return { remote: await connectTo(proxy.url, speaking), executions };
}

async function behindGrpcProxy(options: ProxyOptions): Promise<Behind> {
  const { speaking, loss, lost = 1, dropsHeaders = false } = options;
  const { agent, executions } = aCounter();
  const server = await serve(agent, { port: 0, data: "memory" });
  onTestFinished(() => server.close());
  let messages = 0;
  const proxy = await startGrpcAgent((near, headers) => {
    messages += 1;
    const isLost = messages === lost;
    const names = Object.keys(headers).filter((name) => EXTENSION_HEADERS.includes(name));
    if (dropsHeaders) for (const name of names) delete headers[name];
    void relay(server.url, near, headers).then((pass) =>
      isLost ? loss.grpc!(near, headers) : pass(),
    );
  }, speaking.version);
  const card = await (await fetch(new URL("/.well-known/agent-card.json", server.url))).text();
  const shown = JSON.parse(cardOf(options, card)) as object;
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

/** The card as the proxy passes it. */
function cardOf({ card }: ProxyOptions, text: string): string {
  if (card === "nothing") return text.replaceAll("extensions/idempotency", "extensions/none");
  return card === "by header" ? text.replaceAll('"inMessage":true', '"inMessage":false') : text;
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
    const { remote, executions } = await behindProxy({ speaking, loss, card: "nothing" });

    const answer = await WAYS[way](remote).catch((error: unknown) => error);

    if (loss.isRefusal) expect(answer).toMatchObject({ text: "charged for Ann" });
    else expect(answer).toBeInstanceOf(Error);
    // Only a proxy that says that nothing was processed is believed.
    expect(executions()).toBe(loss.isRefusal ? 2 : 1);
  });

  test.each(ROWS)("$binding, $way, $name: an agent that deduplicates", async (row) => {
    const { loss, way, binding, name } = row;
    const speaking = { version: "1.0", binding } as const;
    const { remote, executions } = await behindProxy({ speaking, loss, card: "by message" });

    const answer = await WAYS[way](remote).catch((error: unknown) => error);

    // A page in place of an answer is an answer that cannot be understood.
    if (name === "a page") expect(answer).toMatchObject({ kind: "unreadable" });
    else expect(answer).toMatchObject({ text: "charged for Ann" });
    expect(executions()).toBe(1);
  });
});

const HEADER_ROWS = (["1.0", "0.3"] as const)
  .flatMap((version) =>
    BINDINGS.flatMap((binding) =>
      (["send", "stream"] as const).map((way) => ({ speaking: { version, binding }, way })),
    ),
  )
  .filter(({ speaking }) => speaking.version === "1.0" || speaking.binding !== "GRPC");

describe("a lost answer behind a gateway that drops the headers of extensions", () => {
  const loss = LOSSES["a reset"]!;

  test.each(HEADER_ROWS)(
    "is resumed, because the message activates idempotency ($way, $speaking.binding $speaking.version)",
    async ({ speaking, way }) => {
      const dropsHeaders = true;
      const { remote, executions } = await behindProxy({
        speaking,
        loss,
        card: "by message",
        dropsHeaders,
      });

      expect(await WAYS[way](remote)).toMatchObject({ text: "charged for Ann" });
      expect(executions()).toBe(1);
    },
  );

  test.each(HEADER_ROWS)(
    "ends with an error if only a header activates it ($way, $speaking.binding $speaking.version)",
    async ({ speaking, way }) => {
      const dropsHeaders = true;
      const { remote, executions } = await behindProxy({
        speaking,
        loss,
        card: "by header",
        dropsHeaders,
      });

      await expect(WAYS[way](remote)).rejects.toThrow("The message was not resent");
      expect(executions()).toBe(1);
    },
  );

  test.each(HEADER_ROWS)(
    "is resumed once an answer has named the extension ($way, $speaking.binding $speaking.version)",
    async ({ speaking, way }) => {
      const { remote, executions } = await behindProxy({
        speaking,
        loss,
        card: "by header",
        lost: 2,
      });
      await WAYS[way](remote);
      expect(remote.deduplicates).toBe(true);

      expect(await WAYS[way](remote)).toMatchObject({ text: "charged for Ann" });
      expect(executions()).toBe(2);
    },
  );
});
