import {
  type AgentContext,
  type ClientCapabilities,
  type ContentBlock,
  type PromptResponse,
  RequestError,
  type SessionModeState,
  type SessionUpdate,
  methods,
} from "@agentclientprotocol/sdk";
import type { Conversation, RemoteAgent } from "@convoke/client";
import { EXTENSIONS, type Message, type Task, isTerminal, userMessage } from "@convoke/protocol";
import { randomUUID } from "node:crypto";
import { AskClient } from "./ask-client.ts";
import { terminalKey } from "./command-output.ts";
import { toParts } from "./content.ts";
import { TaskUpdates } from "./task-updates.ts";
import { Turn } from "./turn.ts";

/** What all sessions of an editor share. */
export interface SessionScope {
  readonly agent: RemoteAgent;
  /** Whether the agent speaks the coder extension. */
  readonly isCoder: boolean;
  readonly client: AgentContext;
  readonly capabilities: ClientCapabilities;
  /** Aborts when the editor is gone. */
  readonly gone: AbortSignal;
  /** Writes a line to the log. */
  readonly note: (message: string) => void;
}

/** The modes of a coding agent. The server grants at most those that its policy allows. */
const MODES = [
  { id: "plan", name: "Plan", description: "Reads and plans; changes nothing" },
  { id: "ask", name: "Ask", description: "Asks before it changes files or runs commands" },
  { id: "auto-edit", name: "Auto-edit", description: "Changes files without asking" },
  { id: "full", name: "Full", description: "Runs everything without asking" },
];

/** A session of an editor: a conversation of A2A, whose context has the id of the session. */
export class Session {
  readonly id: string;
  readonly cwd: string;
  readonly #scope: SessionScope;
  readonly #hasModes: boolean;
  #conversation: Conversation;
  #turn: { readonly turn: Turn; readonly ended: Promise<unknown> } | undefined;
  #isPrompted = false;
  /** The mode that the user has chosen and that the agent was not asked for yet. */
  #mode: string | undefined;

  constructor(scope: SessionScope, id: string, cwd: string, hasModes: boolean) {
    this.#scope = scope;
    this.id = id;
    this.cwd = cwd;
    this.#hasModes = hasModes;
    this.#conversation = scope.agent.conversation({ contextId: id });
  }

  /** The modes, if the agent has some. */
  get modes(): { readonly modes?: SessionModeState } {
    if (!this.#hasModes) return {};
    return { modes: { currentModeId: "ask", availableModes: MODES } };
  }

  /** Asks for another mode with the next message. */
  setMode(modeId: string): void {
    if (!this.#hasModes) throw RequestError.invalidParams({}, "this agent has no modes");
    if (!MODES.some(({ id }) => id === modeId)) {
      const names = MODES.map(({ id }) => id).join(", ");
      throw RequestError.invalidParams({ modeId }, `modeId must be one of ${names}`);
    }
    this.#mode = modeId;
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
    const mode = this.#mode === undefined ? {} : { mode: this.#mode };
    // Asked for once: commands can change it too.
    this.#mode = undefined;
    const settings = { kind: "agent-settings", workspacePath: this.cwd, ...mode };
    return { ...message, metadata: { [EXTENSIONS.coder.uri]: settings } };
  }
}
