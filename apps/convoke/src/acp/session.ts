import {
  type AgentContext,
  type ClientCapabilities,
  type ContentBlock,
  type PromptResponse,
  RequestError,
  type SessionUpdate,
  methods,
} from "@agentclientprotocol/sdk";
import type { Conversation, RemoteAgent } from "@convoke/client";
import { EXTENSIONS, type Message, type Task, isTerminal, userMessage } from "@convoke/protocol";
import { randomUUID } from "node:crypto";
import { AskClient } from "./ask-client.ts";
import type { CoderStatus } from "./coder-commands.ts";
import { terminalKey } from "./command-output.ts";
import { toParts } from "./content.ts";
import type { SessionSettings } from "./session-settings.ts";
import { TaskUpdates } from "./task-updates.ts";
import { Turn } from "./turn.ts";

/** What all sessions of an editor share. */
export interface SessionScope {
  readonly agent: RemoteAgent;
  /** Whether the agent speaks the coder extension. */
  readonly isCoder: boolean;
  readonly client: AgentContext;
  readonly capabilities: ClientCapabilities;
  /** What is in effect in a session; undefined if the agent does not say. */
  readonly status: (sessionId: string) => Promise<CoderStatus | undefined>;
  /** Aborts when the editor is gone. */
  readonly gone: AbortSignal;
  /** Writes a line to the log. */
  readonly note: (message: string) => void;
}

/** A session of an editor: a conversation of A2A, whose context has the id of the session. */
export class Session {
  readonly id: string;
  readonly cwd: string;
  readonly #scope: SessionScope;
  readonly #settings: SessionSettings | undefined;
  #conversation: Conversation;
  #turn: { readonly turn: Turn; readonly ended: Promise<unknown> } | undefined;
  #isPrompted = false;

  constructor(scope: SessionScope, id: string, cwd: string, settings: SessionSettings | undefined) {
    this.#scope = scope;
    this.id = id;
    this.cwd = cwd;
    this.#settings = settings;
    this.#conversation = scope.agent.conversation({ contextId: id });
  }

  /** The mode, the model and their alternatives, if the agent has some. */
  get state(): Partial<SessionSettings["state"]> {
    return this.#settings?.state ?? {};
  }

  /** Chooses a mode or a model. The next message asks the agent for it. */
  async choose(setting: string, value: unknown): Promise<void> {
    if (this.#settings === undefined) {
      throw RequestError.invalidParams({}, `this agent has no ${setting}s`);
    }
    this.#settings.choose(setting, value);
    for (const update of this.#settings.updates()) await this.show(update);
  }

  /** Sends what the user has written, and follows the task. */
  async prompt(blocks: readonly ContentBlock[]): Promise<PromptResponse> {
    if (this.#isPrompted) {
      const why = "this session is working on another prompt; cancel it first";
      throw RequestError.invalidRequest({ sessionId: this.id }, why);
    }
    this.#isPrompted = true;
    try {
      if (await this.#isCanceledBefore()) return { stopReason: "cancelled" };
      return await this.#follow(this.#newUpdates(false), this.#messageFor(blocks));
    } finally {
      await this.#refresh();
      this.#isPrompted = false;
    }
  }

  /** Cancels what the session works on. */
  async cancel(): Promise<void> {
    await this.#turn?.turn.cancel();
  }

  /** Stops following, because the editor loads the session again. The task continues. */
  leave(): void {
    this.#turn?.turn.giveUp();
  }

  /**
   * Continues a session of an earlier process: shows it, unless the editor still has it, and follows
   * its last task if that is not over. The tasks are given in the order of their creation.
   */
  async load(tasks: readonly Task[], isShown: boolean): Promise<void> {
    let updates = this.#newUpdates(true);
    for (const task of tasks) {
      updates = this.#newUpdates(true);
      for (const update of updates.next(task)) if (isShown) await this.show(update);
    }
    await this.#refresh();
    const last = tasks.at(-1);
    if (last === undefined) return;
    const { id, contextId, status } = last;
    const isOpen = !isTerminal(status.state);
    const state = { contextId, lastTaskId: id, ...(isOpen && { taskId: id }) };
    this.#conversation = this.#scope.agent.conversation({ state });
    if (!isOpen) return;
    // After the response: an editor expects requests only for sessions that it knows.
    setImmediate(() => {
      this.#follow(updates, undefined).catch((error: unknown) => {
        if (!this.#scope.gone.aborted) this.#scope.note(`The task was lost: ${String(error)}`);
      });
    });
  }

  async show(update: SessionUpdate): Promise<void> {
    const { client } = this.#scope;
    await client.notify(methods.client.session.update, { sessionId: this.id, update });
  }

  /** Shows the title, the mode, the model and the usage, if they have changed. */
  async #refresh(): Promise<void> {
    if (this.#settings === undefined) return;
    const status = await this.#scope.status(this.id);
    for (const update of this.#settings.updates(status)) await this.show(update);
  }

  /**
   * A task that was already running when the session was loaded goes on first, unless it waits for
   * the user: then the prompt is the answer. Returns whether the user has canceled meanwhile.
   */
  async #isCanceledBefore(): Promise<boolean> {
    if (this.#turn === undefined) return false;
    const { turn, ended } = this.#turn;
    if (turn.isAsking) turn.leave();
    await ended;
    return turn.isCanceled;
  }

  async #follow(updates: TaskUpdates, message: Message | undefined): Promise<PromptResponse> {
    const { agent, client, capabilities, gone, note } = this.#scope;
    const fillsForms = capabilities.elicitation?.form != null;
    const turn = new Turn({
      agent,
      conversation: this.#conversation,
      updates,
      ask: new AskClient(client, this.id, fillsForms),
      show: (update) => this.show(update),
      gone,
      note,
    });
    const following = turn.follow(message);
    this.#turn = { turn, ended: following.catch(() => undefined) };
    try {
      return await following;
    } finally {
      this.#turn = undefined;
    }
  }

  #newUpdates(isReplay: boolean): TaskUpdates {
    const { isCoder, capabilities } = this.#scope;
    const terminals = terminalKey(capabilities);
    return new TaskUpdates({ cwd: this.cwd, isCoder, isReplay, terminals });
  }

  /** A coding agent is asked to work in the folder of the session; its server decides. */
  #messageFor(blocks: readonly ContentBlock[]): Message {
    const message = userMessage(randomUUID(), toParts(blocks));
    if (!this.#scope.isCoder) return message;
    const chosen = this.#settings?.take() ?? {};
    const settings = { kind: "agent-settings", workspacePath: this.cwd, ...chosen };
    return { ...message, metadata: { [EXTENSIONS.coder.uri]: settings } };
  }
}
