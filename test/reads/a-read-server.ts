import { createMemoryBackend } from "@convoke/engine/memory";
import { type Backend, createJsonLogger } from "@convoke/engine";
import { type AgentEvent, type Caller, SseDecoder, type Task } from "@convoke/protocol";
import { scriptedModel } from "@convoke/runtime/testing";
import { type ServeOptions, serve } from "@convoke/server";
import { bearer, defineAgent } from "convoke";
import { afterAll, beforeAll } from "vitest";
import { aGuardedTool } from "../approvals/a-guarded-tool.ts";
import { aMessage } from "../conformance/requests.ts";
import { calls } from "../loop/scripts.ts";

/** The callers of the server, by token. */
const CALLERS: Readonly<Record<string, Caller>> = {
  ann: { owner: "ann", scopes: ["read"] },
  bob: { owner: "bob", scopes: [] },
  operator: { owner: "ops", scopes: ["convoke:operate"] },
  "ann@acme": { owner: "ann", tenant: "acme", scopes: [] },
  "operator@acme": { owner: "ops", tenant: "acme", scopes: ["convoke:operate"] },
};

/**
 * Something that the model thinks and its provider signs, then a call that needs an approval, then an
 * answer in several chunks.
 */
const TURNS = [
  [
    { kind: "reasoning", text: "I should delete it.", signature: "signed-by-the-provider" },
    calls("delete", { path: "a" }),
  ],
  [
    { kind: "text", text: "It is gone, and here is " },
    { kind: "delay", ms: 1 },
    { kind: "text", text: "a long story " },
    { kind: "delay", ms: 1 },
    { kind: "text", text: "about how it went." },
  ],
] as const;

/** An event of a log, as the read API shows it. */
export interface Shown {
  readonly from?: number;
  readonly seq: number;
  readonly at?: string;
  readonly event: AgentEvent;
}

export interface LogAnswer {
  readonly status: number;
  readonly state: string;
  readonly head: number;
  readonly next?: number;
  readonly events: readonly Shown[];
}

/** A server whose agent waits for an approval in each task. It runs during the tests of a file. */
export class ReadServer {
  readonly backend: Backend = createMemoryBackend();
  url = "";

  /** A request to a route outside A2A. */
  fetch(token: string, path: string, headers: Record<string, string> = {}): Promise<Response> {
    const authorization = `Bearer ${token}`;
    return fetch(`${this.url}convoke/${path}`, { headers: { authorization, ...headers } });
  }

  async json<T = Readonly<Record<string, unknown>>>(token: string, path: string): Promise<T> {
    const answer = await this.fetch(token, path);
    return { status: answer.status, ...((await answer.json()) as object) } as T;
  }

  /** A request that changes something, and the status code and JSON of its answer. */
  async change(token: string, method: "POST" | "DELETE", path: string, body: object = {}) {
    const answer = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(method === "POST" && { body: JSON.stringify(body) }),
    });
    const json = (await answer.json()) as Readonly<Record<string, unknown>>;
    return { code: answer.status, ...json };
  }

  /** A page of a log. Without events if the request was rejected. */
  async log(token: string, taskId: string, query = ""): Promise<LogAnswer> {
    const answer = await this.json<Omit<LogAnswer, "events">>(token, `tasks/${taskId}/log${query}`);
    return { events: [], ...answer };
  }

  /** The log as server-sent events, until the server ends the stream. */
  async follow(token: string, path: string, lastEventId?: number): Promise<readonly Shown[]> {
    const events: Shown[] = [];
    for await (const one of await this.open(token, path, lastEventId)) events.push(one);
    return events;
  }

  /** Opens a stream. What happens from now on is in it. */
  async open<T extends object = Shown>(
    token: string,
    path: string,
    lastEventId?: number,
  ): Promise<AsyncGenerator<T>> {
    const accept = "text/event-stream";
    const resume = lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) };
    return eventsIn(await this.fetch(token, path, { accept, ...resume }));
  }

  /** Starts a task, which then waits for an approval. */
  start(token: string, text = "Delete it.", contextId?: string): Promise<Task> {
    return this.#send(token, aMessage(text, contextId === undefined ? {} : { contextId }));
  }

  /** Approves the call, and waits until the task has ended. */
  finish(token: string, { id: taskId, contextId }: Task): Promise<Task> {
    return this.#send(token, aMessage("yes", { taskId, contextId }));
  }

  async #send(token: string, message: object): Promise<Task> {
    const request = { jsonrpc: "2.0", id: 1, method: "message/send", params: { message } };
    const answer = await this.change(token, "POST", "", request);
    return (answer as unknown as { readonly result: Task }).result;
  }
}

async function* eventsIn<T extends object>({ body }: Response): AsyncGenerator<T> {
  const decoder = new SseDecoder();
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    for (const { id, data } of decoder.push(piece)) {
      const { seq } = JSON.parse(data) as Partial<Shown>;
      if (id !== "" && Number(id) !== seq) throw new Error(`id ${id}, seq ${seq}`);
      yield JSON.parse(data) as Awaited<T>;
    }
  }
}

export function useReadServer(options: Partial<ServeOptions> = {}): ReadServer {
  const world = new ReadServer();
  let close: () => Promise<void>;
  beforeAll(async () => {
    const model = scriptedModel(
      Array.from(
        { length: 100 },
        () =>
          ({ transcript }) =>
            transcript.some(({ role }) => role === "tool") ? [...TURNS[1]] : [...TURNS[0]],
      ),
    );
    const agent = defineAgent({
      name: "Thinker",
      description: "Thinks with a model.",
      model,
      tools: [aGuardedTool().guarded],
    });
    const server = await serve(agent, {
      port: 0,
      host: "127.0.0.1",
      logger: createJsonLogger("silent", () => undefined),
      openBackend: async () => world.backend,
      auth: Object.entries(CALLERS).map(([token, caller]) => bearer(token, caller)),
      ...options,
    });
    world.url = server.url;
    close = () => server.close();
  });
  afterAll(() => close());
  return world;
}
