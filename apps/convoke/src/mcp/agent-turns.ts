import type { Answer, FollowOptions, Input, RemoteAgent } from "@convoke/client";
import { EXTENSIONS, type Message, userMessage } from "@convoke/protocol";
import type { ServerContext } from "@modelcontextprotocol/server";
import { randomUUID } from "node:crypto";
import { CallProgress } from "./call-progress.ts";
import { followRun } from "./follow-run.ts";

export interface AgentTurnsOptions {
  readonly agent: RemoteAgent;
  /** The call that is worked on: it shows the progress, and canceling it cancels the task. */
  readonly context: ServerContext;
  readonly follow: Pick<FollowOptions, "reconnect" | "onNotice">;
}

/** Where in a conversation something is said. */
interface Place {
  readonly contextId?: string | undefined;
  readonly taskId?: string | undefined;
}

/** What one call has the agent do, turn by turn. */
export class AgentTurns {
  readonly #options: AgentTurnsOptions;
  readonly #progress: CallProgress;

  constructor(options: AgentTurnsOptions) {
    this.#options = options;
    this.#progress = new CallProgress(options.context);
  }

  /** Says something, and waits until the agent has done its part. */
  say(input: Input, place: Place): Promise<Answer> {
    const { agent, follow } = this.#options;
    return this.#follow(
      (options) => agent.stream(input, { ...place, ...follow, ...options }),
      place.taskId !== undefined,
    );
  }

  /** Says nothing, and waits until the task rests. */
  look(taskId: string): Promise<Answer> {
    const { agent, follow } = this.#options;
    return this.#follow((options) => agent.subscribe(taskId, { ...follow, ...options }), false);
  }

  /** A message for a skill, which is named where the agent can read that. */
  messageFor(text: string, skill: string | undefined): Message {
    const message = userMessage(randomUUID(), text);
    const { uri } = EXTENSIONS.skill;
    if (skill === undefined || !declares(this.#options.agent, uri)) return message;
    return { ...message, extensions: [uri], metadata: { [uri]: { id: skill } } };
  }

  close(): void {
    this.#progress.close();
  }

  #follow(open: Parameters<typeof followRun>[0]["open"], isAnswer: boolean): Promise<Answer> {
    const { signal } = this.#options.context.mcpReq;
    return followRun({ open, signal, onEvent: (event) => this.#progress.see(event), isAnswer });
  }
}

function declares({ card }: RemoteAgent, uri: string): boolean {
  const { extensions } = (card["capabilities"] ?? {}) as { readonly extensions?: unknown };
  return (
    Array.isArray(extensions) &&
    extensions.some((one: { readonly uri?: unknown } | null) => one?.uri === uri)
  );
}
