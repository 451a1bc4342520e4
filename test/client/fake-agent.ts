import { once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** A request as the agent received it. */
export interface Seen {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The parsed body of a call; undefined for a GET. */
  readonly call: Call | undefined;
  /** Resolves when the connection of the response is closed, by either side. */
  readonly closed: Promise<unknown>;
}

export interface Call {
  readonly jsonrpc: string;
  readonly id: number;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** The response of the agent, byte for byte. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** How the response ends: properly, never, or with a broken connection. */
  readonly end?: "properly" | "never" | "broken";
}

export interface FakeAgentScript {
  /** By path; `origin` is the agent's own origin. */
  readonly pages?: Readonly<Record<string, (origin: string) => Reply>>;
  /** Answers every POST. */
  readonly answer?: (call: Call, seen: Seen) => Reply;
}

export interface FakeAgent {
  readonly url: string;
  readonly seen: readonly Seen[];
  /** The last call. */
  readonly last: Seen;
  /** Before the test ends, for tests about unreachable agents. */
  close(): Promise<void>;
}

/**
 * An agent with scripted responses, on a real socket and in literal JSON. It closes with the test
 * that started it.
 */
export async function startFakeAgent(script: FakeAgentScript): Promise<FakeAgent> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    void handle(request, response);
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const call = body === "" ? undefined : (JSON.parse(body) as Call);
    const headers = request.headers as Readonly<Record<string, string | undefined>>;
    const entry: Seen = { path: request.url ?? "", headers, call, closed: once(response, "close") };
    seen.push(entry);
    const page = script.pages?.[entry.path];
    if (call !== undefined && script.answer) write(response, script.answer(call, entry));
    else write(response, page?.(url) ?? { status: 404, body: "not here" });
  }

  async function close(): Promise<void> {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }

  onTestFinished(close);
  const url = `http://127.0.0.1:${await listen(server)}`;
  return {
    url,
    seen,
    get last() {
      const last = seen.at(-1);
      if (last === undefined) throw new Error("the agent was not called");
      return last;
    },
    close,
  };
}

/**
 * Ports of earlier agents of this worker. The client may still have the card of such an agent in
 * its cache.
 */
const usedPorts = new Set<number>();

async function listen(server: Server): Promise<number> {
  for (;;) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    if (!usedPorts.has(port)) {
      usedPorts.add(port);
      return port;
    }
    server.close();
    await once(server, "close");
  }
}

function write(response: ServerResponse, reply: Reply): void {
  response.writeHead(reply.status ?? 200, reply.headers);
  if (reply.end === "never") response.write(reply.body ?? "");
  else if (reply.end === "broken") response.write(reply.body ?? "", () => response.destroy());
  else response.end(reply.body);
}

/** A page or a JSON response. */
export function json(value: unknown, status = 200): Reply {
  return { status, headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) };
}

export function result(call: Call, value: unknown): Reply {
  return json({ jsonrpc: "2.0", id: call.id, result: value });
}

export function failure(
  call: Call,
  error: { code: number; message: string; data?: unknown },
): Reply {
  return json({ jsonrpc: "2.0", id: call.id, error });
}

/** Server-sent events with the ids 1, 2, 3… */
export function events(call: Call, results: readonly unknown[], end?: Reply["end"]): Reply {
  const frames = results.map(
    (value, place) =>
      `id: ${place + 1}\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: call.id, result: value })}\n\n`,
  );
  return stream(`: hello\n\n${frames.join("")}`, end);
}

/** Any text as an event stream. */
export function stream(body: string, end: Reply["end"] = "properly"): Reply {
  return { headers: { "Content-Type": "text/event-stream" }, body, end };
}

const CARD = "/.well-known/agent-card.json";

/** The card of a 1.0 agent at its own origin. */
export function pagesV1(more: object = {}): NonNullable<FakeAgentScript["pages"]> {
  return {
    [CARD]: (origin) =>
      json({
        name: "Greeter",
        description: "Greets people by name.",
        version: "2.1.0",
        supportedInterfaces: [
          { url: `${origin}/`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
        ],
        capabilities: { streaming: true },
        defaultInputModes: ["text/plain"],
        defaultOutputModes: ["text/plain"],
        skills: [{ id: "greet", name: "Greet", description: "Says hello.", tags: ["hello"] }],
        ...more,
      }),
  };
}

/** The card of a 0.3 agent at its own origin. */
export function pagesV03(more: object = {}): NonNullable<FakeAgentScript["pages"]> {
  return {
    [CARD]: (origin) =>
      json({
        protocolVersion: "0.3.0",
        name: "Old Greeter",
        description: "Greets people by name.",
        version: "1.0.0",
        url: `${origin}/`,
        capabilities: { streaming: true },
        defaultInputModes: ["text/plain"],
        defaultOutputModes: ["text/plain"],
        skills: [],
        ...more,
      }),
  };
}
