import type { ClientTool, Conversation, RemoteAgent, Run, RunNotice } from "@convoke/client";
import {
  type A2APart,
  type AgentEvent,
  EXTENSIONS,
  type Message,
  isInterrupted,
  isTerminal,
  userMessage,
} from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { batch, signal } from "@preact/signals";
import type { AgentSummary } from "../server/about.ts";
import { type AgentProtocol, connectTo } from "../server/agent-connection.ts";
import { type TaskChange, onTaskChange } from "../server/feed.ts";
import { ask } from "../server/session.ts";
import { listTasks } from "../server/task-list.ts";
import { type Turn, applyToTurn, startTurn } from "./turn.ts";

export interface ChatSessionOptions {
  readonly agent: AgentSummary;
  /** The conversation to continue. Absent for a new one. */
  readonly contextId?: string | undefined;
  /** Changes with the protocol, the tools and the visitor: then the page opens another session. */
  readonly settings: string;
  readonly protocol: AgentProtocol;
  readonly tools: readonly ClientTool[];
  /** Called when the agent has given a new conversation its id. */
  readonly onContext: (contextId: string) => void;
}

/** What the page says about the stream: the connection was lost, or it continued where it was cut. */
export type StreamNote = "lost" | "resumed" | "polling";

/** Words appear in groups, so that a fast answer does not draw the page for each of them. */
const SHOW_EVERY_MS = 40;

/** How many tasks of a conversation are shown. Older ones are on the Tasks page. */
export const MAX_TURNS = 30;

/** A conversation with an agent that a visitor looks at. */
export class ChatSession {
  readonly turns = signal<readonly Turn[]>([]);
  readonly isLoaded = signal(false);
  /** Whether the agent works on an answer, and its stream is read. */
  readonly isRunning = signal(false);
  readonly note = signal<StreamNote | undefined>(undefined);
  readonly problem = signal<Error | undefined>(undefined);
  readonly remote = signal<RemoteAgent | undefined>(undefined);
  contextId: string | undefined;
  readonly settings: string;
  readonly #options: ChatSessionOptions;
  #conversation: Conversation | undefined;
  #run: Run | undefined;
  /** Turns that are newer than what is shown. */
  #pending: readonly Turn[] | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stopFeed: () => void;
  #isClosed = false;

  constructor(options: ChatSessionOptions) {
    this.#options = options;
    this.contextId = options.contextId;
    this.settings = options.settings;
    this.#stopFeed = onTaskChange((change) => void this.#onChange(change).catch(() => undefined));
    void this.#open();
  }

  /** Sends a message: a new one, or the answer to the question of the last task. */
  async say(parts: readonly A2APart[], { isSecret = false } = {}): Promise<void> {
    const conversation = this.#conversation;
    if (conversation === undefined) return;
    // A run that waits for an authorization is still open.
    await this.#leaveRun();
    const message = userMessage(crypto.randomUUID(), parts);
    const { taskId } = conversation.state;
    const last = this.#turns.at(-1);
    const isAnswer = taskId !== undefined && last?.task?.id === taskId;
    const shown = isSecret ? { ...message, parts: [HIDDEN_ANSWER] } : message;
    const turn = isAnswer ? withAnswer(last, shown) : startTurn(shown);
    this.#put(turn);
    await this.#follow(conversation.say(message), turn.key);
  }

  /** Continues the last task: after a lost page, an authorization, or a decision elsewhere. */
  async resume(): Promise<void> {
    const last = this.#turns.at(-1);
    if (this.#conversation === undefined || last?.task === undefined) return;
    await this.#leaveRun();
    await this.#follow(this.#conversation.resume(), last.key);
  }

  /** Cancels the task that runs or waits. */
  async stop(): Promise<void> {
    const last = this.#turns.at(-1);
    try {
      if (this.#run !== undefined) await this.#run.cancel();
      else if (last?.task !== undefined) await this.remote.value?.cancel(last.task.id);
    } catch (error) {
      this.problem.value = error as Error;
    }
    if (this.#run === undefined && last !== undefined) await this.#complete(last.key);
  }

  close(): void {
    this.#isClosed = true;
    this.#stopFeed();
    clearTimeout(this.#timer);
    void this.#leaveRun();
  }

  async #open(): Promise<void> {
    const { agent, protocol, tools } = this.#options;
    try {
      const remote = await connectTo(agent, protocol);
      if (this.contextId !== undefined) await this.#load(remote);
      const last = this.#turns.at(-1)?.task;
      const offered = declaresExtension(remote, EXTENSIONS.clientTools.uri) ? tools : [];
      this.#conversation = remote.conversation({
        state: {
          ...(this.contextId !== undefined && { contextId: this.contextId }),
          ...(last && { lastTaskId: last.id }),
          ...(last && isInterrupted(last.status.state) && { taskId: last.id }),
        },
        tools: offered,
        extensions: [EXTENSIONS.toolActivity.uri, EXTENSIONS.approvals.uri].filter((uri) =>
          declaresExtension(remote, uri),
        ),
        onNotice: (notice) => this.#onNotice(notice),
      });
      if (this.#isClosed) return;
      this.remote.value = remote;
      if (last && !isTerminal(last.status.state)) void this.resume();
    } catch (error) {
      this.problem.value = error as Error;
    }
    this.isLoaded.value = true;
  }

  async #load(remote: RemoteAgent): Promise<void> {
    const filters = { agent: this.#options.agent.id, contextId: this.contextId };
    const { tasks: rows } = await listTasks(filters, { size: MAX_TURNS });
    const known = new Map(this.#turns.map((turn) => [turn.task?.id, turn]));
    const ids = rows.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt));
    const turns = await Promise.all(
      ids.map(
        async ({ id: taskId }) => known.get(taskId) ?? (await this.#loadTurn(remote, taskId)),
      ),
    );
    this.#show(turns);
  }

  async #follow(run: Run, key: string): Promise<void> {
    this.#run = run;
    batch(() => {
      this.isRunning.value = true;
      this.note.value = undefined;
      this.problem.value = undefined;
    });
    try {
      for await (const event of run) this.#apply(key, event);
    } catch (error) {
      if (this.#run === run) this.problem.value = error as Error;
    }
    if (this.#run !== run) return;
    this.#run = undefined;
    this.#flush();
    this.isRunning.value = false;
    await this.#complete(key);
  }

  #apply(key: string, event: AgentEvent): void {
    const turn = this.#turns.find((one) => one.key === key);
    if (turn === undefined) return;
    this.#put(applyToTurn(turn, event));
    const { contextId } = event as { readonly contextId?: string };
    if (this.contextId === undefined && contextId !== undefined) {
      this.contextId = contextId;
      this.#options.onContext(contextId);
    }
  }

  /** Adds what only the log has: thoughts, and who decided. */
  async #complete(key: string): Promise<void> {
    const turn = this.#turns.find((one) => one.key === key);
    const remote = this.remote.value;
    if (turn?.task === undefined || remote === undefined || this.#isClosed) return;
    const complete = await this.#loadTurn(remote, turn.task.id, key).catch(() => turn);
    if (this.#run === undefined && !this.#isClosed) this.#put(complete);
  }

  async #onChange(change: TaskChange | "reload"): Promise<void> {
    const remote = this.remote.value;
    if (this.#run !== undefined || remote === undefined || this.contextId === undefined) return;
    const turn =
      change === "reload" ? undefined : this.#turns.find((one) => one.task?.id === change.id);
    if (turn === undefined || change === "reload") return this.#load(remote);
    const { state } = turn.task!.status;
    if (isTerminal(state) || state === change.state) return;
    if (turn === this.#turns.at(-1)) await this.resume();
  }

  #onNotice({ kind }: RunNotice): void {
    if (kind === "reconnecting") this.note.value = "lost";
    if (kind === "resumed" || kind === "resynced") this.note.value = "resumed";
    if (kind === "polling") this.note.value = "polling";
  }

  async #leaveRun(): Promise<void> {
    const run = this.#run;
    this.#run = undefined;
    await run?.[Symbol.asyncDispose]();
  }

  /** A task with everything that its log says about it. */
  async #loadTurn(remote: RemoteAgent, taskId: string, key = taskId): Promise<Turn> {
    const path = `${this.#options.agent.path}/convoke/tasks/${encodeURIComponent(taskId)}`;
    const [task, log] = await Promise.all([
      remote.get(taskId),
      ask<{ readonly events: readonly { readonly event: AgentEvent }[] }>(
        `${path}/log?limit=1000&join=chunks`,
      ),
    ]);
    const empty: Turn = { key, items: [] };
    return applyToTurn(
      log.events.reduce((turn, { event }) => applyToTurn(turn, event), empty),
      task,
    );
  }

  get #turns(): readonly Turn[] {
    return this.#pending ?? this.turns.value;
  }

  /** Replaces the turn with the same key, or adds it. */
  #put(turn: Turn): void {
    const turns = this.#turns;
    const place = turns.findIndex(({ key }) => key === turn.key);
    const isNew = place === -1;
    this.#pending = isNew ? [...turns, turn] : turns.with(place, turn);
    if (isNew) return this.#flush();
    this.#timer ??= setTimeout(() => this.#flush(), SHOW_EVERY_MS);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending !== undefined) this.#show(this.#pending);
  }

  #show(turns: readonly Turn[]): void {
    this.#pending = undefined;
    this.turns.value = turns;
  }
}

/** What is shown instead of a secret, which the page forgets when it is sent. */
const HIDDEN_ANSWER: A2APart = { kind: "text", text: "••••••••" };

function withAnswer(turn: Turn, message: Message): Turn {
  return { ...turn, items: [...turn.items, { kind: "message", message }] };
}

/** Whether the card of an agent declares an extension. */
function declaresExtension({ card }: RemoteAgent, uri: string): boolean {
  const { capabilities } = card;
  const declared = isObject(capabilities) ? capabilities["extensions"] : [];
  return Array.isArray(declared) && declared.some((one) => isObject(one) && one["uri"] === uri);
}
