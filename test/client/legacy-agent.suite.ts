import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  createServer,
} from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { onTestFinished } from "vitest";

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent unchanged, anything else as JSON; "never" leaves the caller waiting. */
  readonly body?: unknown;
}

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

export interface LegacyTask {
  readonly id: string;
  state: string;
  readonly messages: unknown[];
  readonly sessionId: string;
  readonly createdAt: string;
  updatedAt: string;
}

export interface LegacyHabits {
  /** The response at the well-known path. Default: the card of such an agent. */
  readonly card?: (() => Answer) | undefined;
  /** Response instead of accepting the task. */
  readonly submit?: (() => Answer) | undefined;
  /** What happens to a task before it is returned for the first, second, … time. */
  readonly work?: ((task: LegacyTask, look: number) => Answer | void) | undefined;
  /** The response at any other path. Default: none. */
  readonly other?: ((request: Seen) => Answer | undefined) | undefined;
  /** Required of every request except the one for the card. */
  readonly bearer?: string | undefined;
}

/**
 * An agent of the polling protocol, as its documentation describes it: a public card, `POST
 * /a2a/tasks/send` with the message in `params`, `GET /a2a/tasks/:id`, four states, the answer as
 * the last message of the agent. It records every request.
 */
export class LegacyAgent {
  readonly seen: Seen[] = [];
  readonly tasks = new Map<string, LegacyTask>();
  readonly #looks = new Map<string, number>();
  readonly #habits: LegacyHabits;
  readonly #server: Server;

  private constructor(habits: LegacyHabits) {
    this.#habits = habits;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  /** Closed when the test ends. */
  static async start(habits: LegacyHabits = {}): Promise<LegacyAgent> {
    const agent = new LegacyAgent(habits);
    agent.#server.listen(0, "127.0.0.1");
    await once(agent.#server, "listening");
    onTestFinished(async () => {
      agent.#server.closeAllConnections();
      agent.#server.close();
      await once(agent.#server, "close");
    });
    return agent;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The requests so far, in short. */
  get story(): readonly string[] {
    return this.seen.map(({ method, path }) => `${method} ${path.replace(/[0-9a-f-]{36}/, ":id")}`);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url: path = "", headers } = request;
    const body = method === "POST" ? await json(request) : undefined;
    this.seen.push({ method, path, headers, body });
    const answer = this.#answerTo({ method, path, headers, body });
    if (answer.body === "never") return;
    const isText = typeof answer.body === "string";
    response.writeHead(answer.status ?? 200, {
      "content-type": isText ? "text/plain" : "application/json",
      ...answer.headers,
    });
    response.end(isText ? answer.body : JSON.stringify(answer.body));
  }

  #answerTo({ method, path, headers, body }: Seen): Answer {
    if (path.startsWith("/.well-known/")) {
      return this.#habits.card?.() ?? { body: legacyCard(this.url) };
    }
    const { bearer } = this.#habits;
    if (bearer !== undefined && headers.authorization !== `Bearer ${bearer}`) {
      return { status: 401, body: { error: "Unauthorized" } };
    }
    if (method === "POST" && path === "/a2a/tasks/send") {
      return this.#habits.submit?.() ?? this.#take(body);
    }
    const other = this.#habits.other?.({ method, path, headers, body });
    if (other !== undefined) return other;
    const [, id = ""] = /^\/a2a\/tasks\/([^/]+)$/.exec(path) ?? [];
    const task = this.tasks.get(id);
    return task ? this.#show(task) : { status: 404, body: { error: "Not found" } };
  }

  #take(body: unknown): Answer {
    const whole = body as { readonly params?: Readonly<Record<string, unknown>> };
    const { message, timeoutMs = 300_000 } = whole.params ?? {};
    if (typeof message !== "string" || message.trim() === "") {
      return { status: 400, body: { error: "message is required" } };
    }
    if (!Number.isInteger(timeoutMs) || Number(timeoutMs) < 1000 || Number(timeoutMs) > 600_000) {
      return { status: 400, body: { error: "timeoutMs must be 1000 to 600000" } };
    }
    const now = new Date().toISOString();
    const task: LegacyTask = {
      id: randomUUID(),
      state: "working",
      messages: [{ role: "user", parts: [{ type: "text", text: message }] }],
      sessionId: randomUUID(),
      createdAt: now,
      updatedAt: now,
    };
    this.tasks.set(task.id, task);
    return { body: task };
  }

  #show(task: LegacyTask): Answer {
    const look = (this.#looks.get(task.id) ?? 0) + 1;
    this.#looks.set(task.id, look);
    const answer = this.#habits.work?.(task, look);
    return answer ?? { body: task };
  }
}

/**
 * As agents of the polling protocol write it: with a URL, and without anything that indicates A2A
 * 0.3 or 1.0.
 */
export function legacyCard(url: string): Readonly<Record<string, unknown>> {
  return {
    name: "Old Hand",
    description: "Works as agents did before.",
    url,
    version: "0.9.1",
    provider: { organization: "Somebody", url: "https://somebody.example" },
    capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: false },
    authentication: { schemes: ["Bearer"] },
    defaultInputModes: ["text/plain", "application/json"],
    defaultOutputModes: ["text/plain", "application/json"],
    skills: [{ id: "web_search", name: "Web Search", tags: ["search"] }],
    supportedProtocols: [{ protocol: "A2A", endpoint: `${url}/.well-known/agent-card.json` }],
  };
}

/** Ends a task with a message. */
export function finish(task: LegacyTask, state: string, ...texts: readonly string[]): void {
  task.state = state;
  task.updatedAt = new Date().toISOString();
  for (const text of texts) task.messages.push({ role: "agent", parts: [{ type: "text", text }] });
}
