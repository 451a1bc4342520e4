import { createMemoryBackend } from "@convoke/engine/memory";
import { type A2APart, type Agent, EXTENSIONS, type Task } from "@convoke/protocol";
import { type AgentDefinition, type ModelAgentDefinition, defineAgent } from "@convoke/runtime";
import { type ServeOptions, serve } from "@convoke/server";
import { randomUUID } from "node:crypto";
import { expect, onTestFinished } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";

export const APPROVALS = EXTENSIONS.approvals.uri;

export interface ServedAgent {
  readonly url: string;
  /** The server's log. */
  readonly log: readonly string[];
  readonly close: () => Promise<void>;
}

/** An agent with a model on a real port. It is stopped when the test ends. */
export async function servedAgent(
  definition: Partial<ModelAgentDefinition>,
  options: Partial<ServeOptions> = {},
): Promise<ServedAgent> {
  const about = { name: "Thinker", description: "Thinks with a model." };
  return serveForTest(defineAgent({ ...about, model: "demo", ...definition }), options);
}

/** A function agent, in the same way. */
export function servedFunction(
  run: AgentDefinition["run"],
  options: Partial<ServeOptions> = {},
): Promise<ServedAgent> {
  return serveForTest(defineAgent({ name: "Asker", description: "Asks.", run }), options);
}

async function serveForTest(agent: Agent, options: Partial<ServeOptions>): Promise<ServedAgent> {
  const logger = memoryLogger();
  const server = await serve(agent, {
    port: 0,
    host: "127.0.0.1",
    logger,
    openBackend: async () => createMemoryBackend(),
    idempotency: "always",
    ...options,
  });
  onTestFinished(() => server.close());
  return {
    url: server.url.replace(/\/$/, ""),
    log: logger.lines,
    close: () => server.close(),
  };
}

export interface Answered {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A client that calls an agent in A2A 0.3, with plain text or with the extension. */
export class Client {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  /** Every raw response, for tests that search for what must not be in any. */
  readonly heard: string[] = [];

  constructor({ url }: ServedAgent, headers: Readonly<Record<string, string>> = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  async rpc(method: string, params: object): Promise<Answered> {
    return JSON.parse(await this.call(method, params)) as Answered;
  }

  /** Sends a message, waits until the task has ended or asks, and returns the task. */
  async send(content: string | readonly A2APart[], more: object = {}): Promise<Task> {
    const { result, error } = await this.trySend(content, more);
    if (error !== undefined) throw new Error(error.message);
    return result as Task;
  }

  trySend(content: string | readonly A2APart[], more: object = {}): Promise<Answered> {
    return this.rpc("message/send", { message: messageOf(content, more) });
  }

  /** The frames of a stream, as text. */
  stream(content: string | readonly A2APart[], more: object = {}): Promise<string> {
    return this.call("message/stream", { message: messageOf(content, more) });
  }

  async get(taskId: string): Promise<Task> {
    return (await this.rpc("tasks/get", { id: taskId })).result as Task;
  }

  /** A request to a route of the server outside A2A. */
  async fetch(
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }> {
    const response = await fetch(`${this.#url}${path}`, {
      headers: { ...this.#headers, "content-type": "application/json" },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
    });
    const text = await response.text();
    this.heard.push(text);
    return { status: response.status, body: JSON.parse(text) as Record<string, unknown> };
  }

  /** The raw response. */
  async call(method: string, params: object): Promise<string> {
    const response = await fetch(this.#url, {
      method: "POST",
      headers: { ...this.#headers, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const text = await response.text();
    this.heard.push(text);
    return text;
  }
}

/** The same with the extension. */
export function structuredClient(agent: ServedAgent, headers = {}): Client {
  return new Client(agent, { "x-a2a-extensions": APPROVALS, ...headers });
}

function messageOf(content: string | readonly A2APart[], more: object): object {
  const parts = typeof content === "string" ? [{ kind: "text", text: content }] : content;
  return { kind: "message", messageId: randomUUID(), role: "user", parts, ...more };
}

/** Resolves to the task once it is in that state. */
export async function until(client: Client, taskId: string, state: string): Promise<Task> {
  await expect
    .poll(async () => (await client.get(taskId)).status.state, { timeout: 20_000, interval: 10 })
    .toBe(state);
  return client.get(taskId);
}
