import { Agent, type IncomingMessage, request } from "node:http";
import type { Contender } from "./contenders.ts";
import { type Order, orderText } from "./targets/order.ts";

export type WireVersion = "0.3" | "1.0";

const agent = new Agent({ keepAlive: true });
let messages = 0;

/** The task that a message continues. */
export interface TaskIds {
  readonly taskId: string;
  readonly contextId: string;
}

export interface Answer {
  /** From the request to the first byte of the body. */
  readonly firstByteMs: number;
  readonly body: string;
}

/** Sends an order and waits for the task, without its history. */
export function send(server: Contender, order: Order, task?: TaskIds): Promise<Answer> {
  const message = messageOf(server.version, order, task);
  return server.version === "0.3"
    ? call(server, "message/send", {
        message,
        configuration: { blocking: true, ...(task && { historyLength: 0 }) },
      })
    : call(server, "SendMessage", {
        message,
        configuration: { ...(task && { historyLength: 0 }) },
      });
}

/** Sends a text that is no order. */
export function sendText(server: Contender, text: string): Promise<Answer> {
  return call(server, "SendMessage", { message: textMessage("1.0", text) });
}

/** Sends an order over the REST binding of 1.0. */
export function sendRest(server: Contender, order: Order): Promise<Answer> {
  const text = JSON.stringify({ message: messageOf("1.0", order) });
  return post({ ...server, version: "1.0" }, text, "message:send").then(whole);
}

export function getTask(server: Contender, id: string): Promise<Answer> {
  return call(server, server.version === "0.3" ? "tasks/get" : "GetTask", { id });
}

/** The first page of the newest tasks; 0.3 has no such method. */
export function listTasks(server: Contender, pageSize: number): Promise<Answer> {
  return call({ ...server, version: "1.0" }, "ListTasks", { pageSize });
}

/** Sends an order and reads its stream to the end. Nothing is decoded while the server is measured. */
export function stream(contender: Contender, order: Order): Promise<Answer> {
  return openStream(contender, order).then(whole);
}

/** Subscribes to a task and reads to the end. */
export function subscribe(server: Contender, taskId: string): Promise<Opened> {
  const method = server.version === "0.3" ? "tasks/resubscribe" : "SubscribeToTask";
  return open(server, method, { id: taskId });
}

/** A response whose body is still to come. */
export interface Opened {
  readonly response: IncomingMessage;
  readonly started: number;
}

/** Sends an order and returns the stream to the caller once its headers have arrived. */
export function openStream(server: Contender, order: Order): Promise<Opened> {
  const method = server.version === "0.3" ? "message/stream" : "SendStreamingMessage";
  return open(server, method, { message: messageOf(server.version, order) });
}

/** Reads a body to its end. */
export function whole({ response, started }: Opened): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let firstByteMs = 0;
    response.on("data", (piece: Buffer) => {
      firstByteMs ||= performance.now() - started;
      pieces.push(piece);
    });
    response.on("error", reject);
    response.on("end", () => resolve({ firstByteMs, body: Buffer.concat(pieces).toString() }));
  });
}

/** Runs something `total` times, `atOnce` at a time. */
export async function inFlight<T>(
  atOnce: number,
  total: number,
  work: () => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  let begun = 0;
  const one = async (): Promise<void> => {
    while (begun++ < total) results.push(await work());
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return results;
}

function call(server: Contender, method: string, params: object): Promise<Answer> {
  return open(server, method, params).then(whole);
}

function open(server: Contender, method: string, params: object): Promise<Opened> {
  return post(server, JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
}

function post(server: Contender, text: string, path = ""): Promise<Opened> {
  const { target, version, token } = server;
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = request(`${target.url}${path}`, {
      method: "POST",
      agent,
      headers: {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(text),
        "a2a-version": version,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
    });
    outgoing.on("error", (error) => {
      // A server closes idle connections; a request that was about to use one is retried.
      if (outgoing.reusedSocket) resolve(post(server, text, path));
      else reject(error);
    });
    outgoing.on("response", (response) => resolve({ response, started }));
    outgoing.end(text);
  });
}

function messageOf(version: WireVersion, order: Order, task?: TaskIds): object {
  return textMessage(version, orderText(order), task);
}

function textMessage(version: WireVersion, text: string, task?: TaskIds): object {
  const messageId = `m${++messages}-${process.pid}`;
  return version === "0.3"
    ? { kind: "message", messageId, role: "user", parts: [{ kind: "text", text }], ...task }
    : { messageId, role: "ROLE_USER", parts: [{ text }], ...task };
}
