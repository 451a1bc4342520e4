import { type IncomingMessage, type ServerResponse, request } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { createJsonLogger } from "@convoke/engine";
import { type ServeAgentOptions, serve } from "convoke";
import { onTestFinished } from "vitest";
import { checkedAgent, omnivore } from "./check-agent.ts";
import { listenOn } from "./peer-server.ts";

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

export interface Answered {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
  /** Leaves the connection open forever. */
  readonly endless?: boolean;
  /** Responds this much later. */
  readonly delayMs?: number;
}

/** One fault of a server. */
export interface Fault {
  /** Changes a request before our server receives it. */
  readonly ask?: (asked: Asked) => Asked;
  /** Responds instead of our server. */
  readonly instead?: (asked: Asked) => Answered | undefined;
  /** Changes the notifications that our server sends. */
  readonly notify?: (notification: Asked) => Asked;
  /** Changes the response of our server after reading it completely. */
  readonly answer?: (answered: Answered, asked: Asked) => Answered;
}

/** A proxy in front of our server that modifies what passes through it. */
export interface Spoiler {
  /** The URL of the proxy, which has this fault from now on. */
  spoil(fault: Fault): string;
  close(): Promise<void>;
}

export interface SpoiledServer extends ServeAgentOptions {
  /** The agent accepts every media type. */
  readonly acceptsEverything?: boolean;
}

/** Starts our server behind a proxy. The card has the URL of the proxy. */
export async function startSpoiler({
  acceptsEverything = false,
  ...options
}: SpoiledServer): Promise<Spoiler> {
  let upstream = "";
  let fault: Fault = {};
  const proxy = await listenOn((incoming, outgoing) => {
    void pass(incoming, outgoing, { fault, upstream, proxyUrl: proxy.url });
  });
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(acceptsEverything ? omnivore : checkedAgent, {
    port: 0,
    data: "memory",
    logger,
    publicUrl: proxy.url,
    ...options,
  });
  upstream = `http://127.0.0.1:${server.port}/`;
  return {
    spoil(next) {
      fault = next;
      return proxy.url;
    },
    async close() {
      await proxy.close();
      await server.close();
    },
  };
}

/** A separate server with one fault, for the duration of a test. */
export async function serveSpoiled(fault: Fault): Promise<string> {
  const spoiler = await startSpoiler({});
  onTestFinished(() => spoiler.close());
  return spoiler.spoil(fault);
}

interface Route {
  readonly fault: Fault;
  readonly upstream: string;
  readonly proxyUrl: string;
}

async function pass(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { fault, upstream, proxyUrl }: Route,
): Promise<void> {
  const asked = await askedOf(incoming);
  if (asked.path.startsWith(HOOKS)) {
    const target = decodeURIComponent(asked.path.slice(HOOKS.length));
    // The check stops reading when it has seen enough.
    await open(target, fault.notify?.(asked) ?? asked).catch(() => undefined);
    return void outgoing.end();
  }
  const sent = throughProxy(fault.ask?.(asked) ?? asked, fault, proxyUrl);
  const other = fault.instead?.(sent);
  if (other === undefined && fault.answer === undefined) {
    const reply = await open(new URL(sent.path, upstream).href, sent);
    outgoing.writeHead(reply.statusCode ?? 0, keptHeaders(reply));
    return void reply.pipe(outgoing);
  }
  const honest = other ?? (await forward(upstream, sent));
  const answered = fault.answer?.(honest, sent) ?? honest;
  await sleep(answered.delayMs ?? 0);
  outgoing.writeHead(answered.status, answered.headers);
  outgoing.write(answered.body);
  if (answered.endless !== true) outgoing.end();
}

/** The path of webhooks that go through the proxy; their own URL follows. */
const HOOKS = "/spoiled-hooks/";

/** Sends notifications through the proxy if the fault modifies them. */
function throughProxy(asked: Asked, { notify }: Fault, proxyUrl: string): Asked {
  if (notify === undefined) return asked;
  const body = asked.body.replaceAll(
    /(?<="url":")(http:[^"]*)/g,
    (url) => `${proxyUrl}${HOOKS.slice(1)}${encodeURIComponent(url)}`,
  );
  return { ...asked, body };
}

async function askedOf(incoming: IncomingMessage): Promise<Asked> {
  const { method = "GET", url: path = "/", headers } = incoming;
  const body = await text(incoming);
  return { method, path, headers: flat(headers), body };
}

async function forward(upstream: string, asked: Asked): Promise<Answered> {
  const reply = await open(new URL(asked.path, upstream).href, asked);
  return { status: reply.statusCode ?? 0, headers: keptHeaders(reply), body: await text(reply) };
}

function open(url: string, { method, headers, body }: Asked): Promise<IncomingMessage> {
  const { host: _, connection: __, "content-length": ___, ...rest } = headers;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: rest, agent: false }, resolve);
    sent.on("error", reject);
    sent.end(body);
  });
}

function keptHeaders(reply: IncomingMessage): Record<string, string> {
  const kept = Object.entries(flat(reply.headers)).filter(([name]) => !HOP_BY_HOP.includes(name));
  return Object.fromEntries(kept);
}

const HOP_BY_HOP = ["content-length", "transfer-encoding", "connection", "keep-alive"];

function flat(headers: IncomingMessage["headers"]): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  return Object.fromEntries(entries);
}

/** The JSON of a body, changed; other bodies stay unchanged. */
export function json(body: string, change: (value: never) => unknown): string {
  try {
    return JSON.stringify(change(JSON.parse(body) as never));
  } catch {
    return body;
  }
}

/** The events of a stream, changed; other bodies stay unchanged. */
export function events(
  { body, headers, ...rest }: Answered,
  change: (events: readonly never[]) => readonly unknown[],
): Answered {
  if (headers["content-type"] !== "text/event-stream") return { body, headers, ...rest };
  const told = body
    .split("\n\n")
    .flatMap((frame) => frame.split("\n").filter((line) => line.startsWith("data: ")))
    .map((line) => JSON.parse(line.slice("data: ".length)) as never);
  const frames = change(told).map((event) => `data: ${JSON.stringify(event)}\n\n`);
  return { body: frames.join(""), headers, ...rest };
}
