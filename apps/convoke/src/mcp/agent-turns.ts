import { randomUUID } from "node:crypto";
import {
  type Answer,
  BEGINS_AGAIN,
  type FollowOptions,
  type Input,
  type RemoteAgent,
  type Run,
} from "@convoke/client";
import {
  EXTENSIONS,
  type Message,
  type PublicEvent,
  isInterrupted,
  textOfParts,
  userMessage,
} from "@convoke/protocol";
import { oneLine } from "@convoke/protocol/internal";
import type { ServerContext } from "@modelcontextprotocol/server";

export interface AgentTurnsOptions {
  readonly agent: RemoteAgent;
  /** The MCP call: it receives the progress, and canceling it cancels the task. */
  readonly context: ServerContext;
  readonly follow: Pick<FollowOptions, "reconnect" | "onNotice">;
}

/** The part of a conversation that a message belongs to. */
interface MessageTarget {
  readonly contextId?: string | undefined;
  readonly taskId?: string | undefined;
}

/** The exchanges with the agent during one MCP call. */
export class AgentTurns {
  readonly #options: AgentTurnsOptions;
  readonly #progress: CallProgress;

  constructor(options: AgentTurnsOptions) {
    this.#options = options;
    this.#progress = new CallProgress(options.context);
  }

  /** Sends a message and waits until the task is finished or interrupted. */
  say(input: Input, target: MessageTarget): Promise<Answer> {
    const { agent, follow } = this.#options;
    return this.#follow(
      (options) => agent.stream(input, { ...target, ...follow, ...options }),
      target.taskId !== undefined,
    );
  }

  /** Sends nothing and waits until the task is finished or interrupted. */
  look(taskId: string): Promise<Answer> {
    const { agent, follow } = this.#options;
    return this.#follow((options) => agent.subscribe(taskId, { ...follow, ...options }), false);
  }

  /** A message to a skill. The skill is named only if the agent supports that extension. */
  messageFor(text: string, skill: string | undefined): Message {
    const message = userMessage(randomUUID(), text);
    const { uri } = EXTENSIONS.skill;
    if (skill === undefined || !declares(this.#options.agent, uri)) return message;
    return { ...message, extensions: [uri], metadata: { [uri]: { id: skill } } };
  }

  close(): void {
    this.#progress.close();
  }

  async #follow(open: OpenRun, isAnswer: boolean): Promise<Answer> {
    const { signal } = this.#options.context.mcpReq;
    const leave = new AbortController();
    const run = open({ signal: leave.signal });
    const cancel = (): void => void cancelRun(run, leave);
    signal.addEventListener("abort", cancel, { once: true });
    if (signal.aborted) cancel();
    try {
      for await (const event of run) {
        this.#progress.see(event);
        if (isQuestion(event, isAnswer)) break;
      }
      return await run.result;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }
}

type OpenRun = (options: Pick<FollowOptions, "signal">) => Run;

function declares({ card }: RemoteAgent, uri: string): boolean {
  const { extensions } = (card["capabilities"] ?? {}) as { readonly extensions?: unknown };
  return (
    Array.isArray(extensions) &&
    extensions.some((one: { readonly uri?: unknown } | null) => one?.uri === uri)
  );
}

/** Cancels the task, and stops reading even if the agent does not stop. */
async function cancelRun(run: Run, leave: AbortController): Promise<void> {
  try {
    await run.cancel();
  } catch {
    // The host has canceled the call and does not wait for a result.
  }
  leave.abort(new Error("the call was canceled"));
}

/**
 * Whether the agent waits for a person. An agent that waits for authorization keeps its stream
 * open, but the host should know now. After an answer, the first task event may still be the old
 * question, so only status updates count.
 */
function isQuestion(event: PublicEvent, isAnswer: boolean): boolean {
  if (event.kind !== "status-update" && (event.kind !== "task" || isAnswer)) return false;
  return isInterrupted(event.status.state);
}

/** Minimum time between two progress notifications. */
const PACE_MS = 200;
/** Many hosts end a call after a minute without progress. */
const HEARTBEAT_MS = 15_000;
const MAX_SHOWN = 200;

/** Reports progress to the host, if it asked for it. Only the latest state is sent. */
class CallProgress {
  readonly #context: ServerContext["mcpReq"];
  readonly #token: string | number | undefined;
  readonly #heartbeat: NodeJS.Timeout | undefined;
  #timer: NodeJS.Timeout | undefined;
  #steps = 0;
  #sent = 0;
  #sentAt = 0;
  #message = "The agent is working.";
  #output = "";
  readonly #artifacts = new Set<string>();

  constructor({ mcpReq }: ServerContext) {
    this.#context = mcpReq;
    this.#token = mcpReq._meta?.progressToken;
    if (this.#token === undefined) return;
    this.#heartbeat = setInterval(() => this.#step(), HEARTBEAT_MS);
  }

  see(event: PublicEvent): void {
    if (this.#token === undefined) return;
    if (event.kind === "artifact-update") {
      const { artifactId, parts } = event.artifact;
      const text = textOfParts(parts);
      const isAgain = event.append !== true && this.#artifacts.has(artifactId);
      this.#artifacts.add(artifactId);
      if (text === "") return;
      const before = event.append === true ? this.#output : isAgain ? `${BEGINS_AGAIN} ` : "";
      this.#output = `${before}${text}`.slice(-MAX_SHOWN);
      this.#message = this.#output;
    } else if (event.kind === "status-update") {
      const text = textOfParts(event.status.message?.parts ?? []);
      this.#message = text === "" ? `The task is ${event.status.state}.` : text;
    } else return;
    this.#step();
  }

  close(): void {
    clearInterval(this.#heartbeat);
    clearTimeout(this.#timer);
  }

  #step(): void {
    this.#steps += 1;
    this.#timer ??= setTimeout(
      () => this.#send(),
      Math.max(0, this.#sentAt + PACE_MS - Date.now()),
    );
  }

  #send(): void {
    this.#timer = undefined;
    if (this.#token === undefined || this.#steps === this.#sent) return;
    this.#sent = this.#steps;
    this.#sentAt = Date.now();
    const params = {
      progressToken: this.#token,
      progress: this.#steps,
      message: oneLine(this.#message, MAX_SHOWN),
    };
    // If the host is gone, its call ends anyway.
    this.#context.notify({ method: "notifications/progress", params }).catch(() => undefined);
  }
}
