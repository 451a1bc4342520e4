import {
  type A2ATaskSendRequest,
  ClientError,
  RemoteError,
  TASK_STATES,
  type TaskState,
} from "@convoke/protocol";
import { type HttpAnswer, type HttpCall, readText } from "@convoke/egress/http";
import type { Invocation, InvocationRequest, TaskProgress } from "./invocation.ts";
import { type Peer, openPeer } from "./peer.ts";

const POLL_MS = 3000;

/** A call in the polling protocol: `POST /a2a/tasks/send`, then `GET /a2a/tasks/:id` every three seconds. */
export class LegacyInvocation implements Invocation {
  readonly #request: InvocationRequest;
  readonly #peer: Peer;

  constructor(order: InvocationRequest) {
    this.#request = order;
    this.#peer = openPeer(order.base, order.options);
  }

  submit(signal: AbortSignal): Promise<TaskProgress> {
    const { sourceAgent } = this.#request.options;
    return this.#send({
      url: `${this.#request.base}/a2a/tasks/send`,
      // Some agents read the name from the body, some from the header.
      ...(sourceAgent !== undefined && { headers: { "X-Source-Agent": sourceAgent } }),
      body: JSON.stringify(toRequest(this.#request)),
      signal,
    });
  }

  get(taskId: string, signal: AbortSignal): Promise<TaskProgress> {
    const url = `${this.#request.base}/a2a/tasks/${encodeURIComponent(taskId)}`;
    return this.#send({ url, signal });
  }

  waitMs(): number {
    return POLL_MS;
  }

  close(): void {
    this.#peer.close();
  }

  async #send(call: HttpCall): Promise<TaskProgress> {
    const { http } = this.#peer;
    const answer = await http.request({
      ...call,
      headers: { Accept: "application/json", ...call.headers },
    });
    const text = http.clean(await readText(answer, call.signal));
    const { status: httpStatus } = answer;
    if (httpStatus < 200 || httpStatus > 299) throw new RemoteError(quote(text), { httpStatus });
    return parseProgress(text, answer);
  }
}

/** Agents of this protocol reject time limits outside this range. */
const TASK_MS = { least: 1000, most: 600_000 };

function toRequest({ message, depth, timeoutMs, options }: InvocationRequest): A2ATaskSendRequest {
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

function parseProgress(text: string, { url }: HttpAnswer): TaskProgress {
  const { id, state, a2aState, messages } = parseTask(text, url);
  if (typeof id !== "string" || id === "") throw unreadable(url, "it has no task id");
  return { taskId: id, state: parseState(a2aState ?? state), text: lastAgentText(messages) };
}

function parseTask(text: string, url: string): LooseTask {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    throw unreadable(url, "it is not JSON");
  }
}

/** An unknown state does not end the task. */
function parseState(value: unknown): TaskState {
  return TASK_STATES.find((state) => state === value) ?? "unknown";
}

function unreadable(url: string, problem: string): ClientError {
  return new ClientError("unreadable", `the answer of ${url} is not a task: ${problem}`);
}

/** Enough to see why an agent or a proxy rejected the request. */
const LONGEST_QUOTE = 300;

function quote(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim().slice(0, LONGEST_QUOTE);
}

/** A message that has not been validated. */
interface LooseMessage {
  readonly role?: unknown;
  readonly parts?: unknown;
  readonly content?: unknown;
}

/**
 * The text of the agent's last message. Parts have a `type`, a `kind` or neither; every part with text
 * counts.
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
