import { ClientError, RemoteError, TASK_STATES, type TaskState } from "@convoke/protocol";
import { type HttpAnswer, type HttpCall, readText } from "@convoke/egress/http";
import type { A2ATaskSendRequest } from "./a2a-task.ts";
import type { Invocation, InvocationRequest, TaskProgress } from "./invocation.ts";
import { type Peer, openPeer } from "./peer.ts";

const POLL_MS = 3000;

/** Agents of this protocol refuse a task that is to be shorter or longer. */
const TASK_MS = { least: 1000, most: 600_000 };

/** By `POST /a2a/tasks/send`, then `GET /a2a/tasks/:id` every three seconds. */
export class LegacyInvocation implements Invocation {
  readonly #order: InvocationRequest;
  readonly #peer: Peer;

  constructor(order: InvocationRequest) {
    this.#order = order;
    this.#peer = openPeer(order.base, order.options);
  }

  submit(signal: AbortSignal): Promise<TaskProgress> {
    const { sourceAgent } = this.#order.options;
    return this.#ask({
      url: `${this.#order.base}/a2a/tasks/send`,
      // Some read the name from the body, some from the header.
      ...(sourceAgent !== undefined && { headers: { "X-Source-Agent": sourceAgent } }),
      body: JSON.stringify(requestOf(this.#order)),
      signal,
    });
  }

  get(taskId: string, signal: AbortSignal): Promise<TaskProgress> {
    const url = `${this.#order.base}/a2a/tasks/${encodeURIComponent(taskId)}`;
    return this.#ask({ url, signal });
  }

  waitMs(): number {
    return POLL_MS;
  }

  close(): void {
    this.#peer.close();
  }

  async #ask(call: HttpCall): Promise<TaskProgress> {
    const { http } = this.#peer;
    const answer = await http.request({
      ...call,
      headers: { Accept: "application/json", ...call.headers },
    });
    const text = http.clean(await readText(answer, call.signal));
    const { status: httpStatus } = answer;
    if (httpStatus < 200 || httpStatus > 299) throw new RemoteError(quote(text), { httpStatus });
    return standingIn(text, answer);
  }
}

function requestOf({ message, depth, timeoutMs, options }: InvocationRequest): A2ATaskSendRequest {
  const { skill, sourceAgent } = options;
  return {
    method: "tasks/send",
    params: {
      message,
      timeoutMs: Math.round(Math.min(Math.max(timeoutMs, TASK_MS.least), TASK_MS.most)),
      depth,
      ...(skill !== undefined && { skill }),
      ...(sourceAgent !== undefined && { sourceAgent }),
    },
  };
}

interface LooseTask {
  readonly id?: unknown;
  readonly state?: unknown;
  readonly a2aState?: unknown;
  readonly messages?: unknown;
}

function standingIn(text: string, { url }: HttpAnswer): TaskProgress {
  const { id, state, a2aState, messages } = parseTask(text, url);
  if (typeof id !== "string" || id === "") throw unreadable(url, "it has no task id");
  return { taskId: id, state: stateOf(a2aState ?? state), text: lastAgentText(messages) };
}

function parseTask(text: string, url: string): LooseTask {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    throw unreadable(url, "it is not JSON");
  }
}

/** A state that nobody knows is none that ends anything. */
function stateOf(value: unknown): TaskState {
  return TASK_STATES.find((state) => state === value) ?? "unknown";
}

function unreadable(url: string, problem: string): ClientError {
  return new ClientError("unreadable", `the answer of ${url} is not a task: ${problem}`);
}

/** Enough to see what an agent or a proxy has against it. */
const LONGEST_QUOTE = 300;

function quote(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim().slice(0, LONGEST_QUOTE);
}

/** What is known of a message before it was looked at. */
interface LooseMessage {
  readonly role?: unknown;
  readonly parts?: unknown;
  readonly content?: unknown;
}

/**
 * The text of the last message of the agent. Parts say `type`, `kind` or neither;
 * whatever has a text counts, and all parts count.
 */
function lastAgentText(messages: unknown): string {
  if (!Array.isArray(messages)) return "";
  const last = (messages as readonly unknown[]).map(asMessage).findLast(isAgent);
  return last === undefined ? "" : textIn(last.parts ?? last.content);
}

function isAgent({ role }: LooseMessage): boolean {
  return role === "agent" || role === "ROLE_AGENT";
}

function textIn(parts: unknown): string {
  if (typeof parts === "string") return parts;
  if (!Array.isArray(parts)) return "";
  return (parts as readonly unknown[])
    .map((part) => (part as { readonly text?: unknown } | null)?.text)
    .filter((text) => typeof text === "string")
    .join("");
}

function asMessage(value: unknown): LooseMessage {
  return typeof value === "object" && value !== null ? value : {};
}
