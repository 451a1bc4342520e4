import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { createJsonLogger } from "@convoke/engine";
import { type ServeAgentOptions, serve } from "convoke";
import { onTestFinished } from "vitest";
import { checkedAgent } from "./check-agent.ts";
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
  /** Leaves the connection open for ever. */
  readonly endless?: boolean;
}

/** One thing that a server gets wrong. */
export interface Fault {
  /** Changes what is asked before our server sees it. */
  readonly ask?: (asked: Asked) => Asked;
  /** Answers instead of our server. */
  readonly instead?: (asked: Asked) => Answered | undefined;
  /** Changes what our server answered. */
  readonly answer?: (answered: Answered, asked: Asked) => Answered;
}

/** Our server behind somebody who spoils what it says. The card names the address of the spoiler. */
export async function serveSpoiled(fault: Fault, options: ServeAgentOptions = {}): Promise<string> {
  let upstream = "";
  const proxy = await listenOn((incoming, outgoing) => {
    void (async () => {
      const asked = await askedOf(incoming);
      const sent = fault.ask?.(asked) ?? asked;
      const honest = fault.instead?.(sent) ?? (await forward(upstream, sent));
      const answered = fault.answer?.(honest, sent) ?? honest;
      outgoing.writeHead(answered.status, answered.headers);
      outgoing.write(answered.body);
      if (answered.endless !== true) outgoing.end();
    })();
  });
  onTestFinished(() => proxy.close());
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(checkedAgent, {
    port: 0,
    data: "memory",
    logger,
    publicUrl: proxy.url,
    ...options,
  });
  onTestFinished(() => server.close());
  upstream = `http://127.0.0.1:${server.port}/`;
  return proxy.url;
}

async function askedOf(incoming: IncomingMessage): Promise<Asked> {
  const { method = "GET", url: path = "/", headers } = incoming;
  const body = await text(incoming);
  return { method, path, headers: flat(headers), body };
}

async function forward(
  upstream: string,
  { method, path, headers, body }: Asked,
): Promise<Answered> {
  const { host: _, connection: __, "content-length": ___, ...rest } = headers;
  const reply = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(new URL(path, upstream), { method, headers: rest, agent: false }, resolve);
    sent.on("error", reject);
    sent.end(body);
  });
  const kept = Object.entries(flat(reply.headers)).filter(([name]) => !HOP_BY_HOP.includes(name));
  return {
    status: reply.statusCode ?? 0,
    headers: Object.fromEntries(kept),
    body: await text(reply),
  };
}

const HOP_BY_HOP = ["content-length", "transfer-encoding", "connection", "keep-alive"];

function flat(headers: IncomingMessage["headers"]): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  return Object.fromEntries(entries);
}

/** The JSON of a body, changed; other bodies stay as they are. */
export function json(body: string, change: (value: never) => unknown): string {
  try {
    return JSON.stringify(change(JSON.parse(body) as never));
  } catch {
    return body;
  }
}

/** The events of a stream, changed; other bodies stay as they are. */
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
