import { CODECS, type PublicEvent, type Task } from "@convoke/protocol";
import { once } from "node:events";
import { type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** A JSON-RPC request as it was received. */
export interface HostileCall {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly id: unknown;
  /** The ordinal of the request among those of this method, starting at 1. */
  readonly count: number;
  readonly response: ServerResponse;
}

export interface HostileAgent {
  readonly url: string;
  readonly seen: readonly HostileCall[];
}

type Replies = Readonly<Record<string, (call: HostileCall) => unknown>>;

const CARD = {
  name: "Other",
  description: "Does what it is told.",
  version: "1.0.0",
  capabilities: { streaming: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
};

/**
 * An agent that supports 1.0 over JSON-RPC with a scripted reply for each method; a method without
 * a reply is never answered.
 */
export async function aHostileAgent(
  replies: Replies,
  card: Readonly<Record<string, unknown>> = CARD,
): Promise<HostileAgent> {
  const seen: HostileCall[] = [];
  const server = createServer((request, response) => {
    if (request.method === "GET") {
      const at = { url: `${url}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ ...card, supportedInterfaces: [at] }));
      return;
    }
    void text(request).then((body) => {
      const { method, params, id } = JSON.parse(body) as HostileCall;
      const count = seen.filter((earlier) => earlier.method === method).length + 1;
      const call = { method, params, id, count, response };
      seen.push(call);
      return replies[method]?.(call);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
  });
  return { url, seen };
}

/** Starts a stream. */
export function opens({ response }: HostileCall): ServerResponse {
  return response.writeHead(200, { "content-type": "text/event-stream" });
}

/** One event of a stream, as on the wire. */
export function frame({ id }: HostileCall, event: PublicEvent): string {
  const result = CODECS["1.0"].encodeEvent(event);
  return `data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`;
}

/** Streams the events, and ends the stream. */
export function streams(call: HostileCall, events: readonly PublicEvent[]): void {
  opens(call).end(events.map((event) => frame(call, event)).join(""));
}

/** Streams the events, and then sends nothing more. */
export function hangsAfter(call: HostileCall, events: readonly PublicEvent[]): void {
  opens(call).write(events.map((event) => frame(call, event)).join(""));
}

/** Answers with a task. */
export function shows({ id, response }: HostileCall, task: Task): void {
  const result = CODECS["1.0"].encodeTask(task);
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
}

/** Responds with an error. */
export function refuses({ id, response }: HostileCall, code: number, message: string): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }));
}
