import { randomUUID } from "node:crypto";
import { NotFoundError, TooManyTasksError, ValidationError } from "@convoke/client/compat";
import {
  A2AError,
  type A2AMessage,
  type A2ATask,
  type A2ATaskParams,
  type A2ATaskSendRequest,
  type A2ATaskState,
  INBOUND_TIMEOUT_MS,
  type TaskState,
  a2aMessage,
  chooseAgent,
  readTaskRequest,
} from "@convoke/protocol";
import { startTimer } from "@convoke/protocol/internal";
import { type A2AAgentRecord, permittedTools } from "./build-agent-card.ts";
import { type SessionEvent, readSessionEvent } from "./session-event.ts";

/** An agent that may work on inbound tasks. */
export interface A2AHostedAgent extends A2AAgentRecord {
  /** Where its sessions work. An agent without a project accepts no tasks. */
  readonly defaultProjectId?: string | null;
  /** When it was created. If all agents say it, they are tried in this order. */
  readonly createdAt?: string;
}

/** The session to create for a task. */
export interface A2ASessionInput {
  readonly projectId: string;
  readonly agentId: string;
  readonly name: string;
  readonly initialPrompt: string;
  /** Another agent asked for it. Such a session must not get tools that call agents. */
  readonly source: "agent";
}

export interface A2AHostedSession {
  readonly id: string;
}

/** Receives the events of a session. */
export type A2ASessionListener = (sessionId: string, event: unknown) => void;

/** Runs sessions and reports their events: `assistant`, `session_exited`, `session_error` and others. */
export interface A2AProcessManager {
  /** May return a function that ends the subscription; otherwise `unsubscribe` is called. */
  subscribe(sessionId: string, listener: A2ASessionListener): (() => void) | void;
  unsubscribe?(sessionId: string, listener: A2ASessionListener): void;
  startProcess(
    session: A2AHostedSession,
    prompt: string,
    options?: { readonly depth: number; readonly skill?: string; readonly sourceAgent?: string },
  ): void;
  /** Called when a task times out or is canceled. */
  stopProcess?(sessionId: string): void;
}

/** What inbound tasks need. `Database` is what the two functions read. */
export interface A2ATaskDeps<Database = unknown> {
  readonly db: Database;
  readonly processManager: A2AProcessManager;
  /** The agents in declared order. Default: `db.listAgents()`. */
  readonly listAgents?: (db: Database) => readonly A2AHostedAgent[];
  /** Default: `db.createSession(input)`. */
  readonly createSession?: (db: Database, input: A2ASessionInput) => A2AHostedSession;
}

/**
 * Starts a task for another agent: chooses the agent, creates its session and starts its process.
 * The returned task is working and changes with the events of the session.
 *
 * Throws `NotFoundError` if no agent has a default project, `ValidationError` for an invalid body, and
 * `TooManyTasksError` while 1000 tasks are running.
 */
export function handleTaskSend<Database>(
  deps: A2ATaskDeps<Database>,
  body: A2ATaskSendRequest,
): A2ATask {
  const params = validParams(body);
  const agent = findAgent(deps, params);
  const inbound = new InboundTask(params, deps.processManager);
  TASKS.add(inbound);
  try {
    const session = createSession(deps, {
      projectId: agent.defaultProjectId,
      agentId: agent.id,
      name: `A2A Task: ${firstCharacters(params.message)}`,
      initialPrompt: params.message,
      source: "agent",
    });
    inbound.start(session);
  } catch (error) {
    inbound.end("failed");
    throw error;
  }
  return inbound.task;
}

/** The task of this id, or `null`. */
export function handleTaskGet(taskId: string): A2ATask | null {
  return TASKS.get(taskId)?.task ?? null;
}

/**
 * Asks the process of a task to stop. The task becomes canceled, which the four states show as failed
 * with `a2aState`, when its session has stopped. Returns `null` if there is no such task.
 */
export function handleTaskCancel(taskId: string): A2ATask | null {
  const inbound = TASKS.get(taskId);
  inbound?.cancel();
  return inbound?.task ?? null;
}

/** Forgets all tasks of `handleTaskSend`. Their sessions continue. Tasks of a server are not affected. */
export function clearTaskStore(): void {
  TASKS.clear();
}

const NAME_LENGTH = 50;

/** Cuts between characters, of which some have two code units. */
function firstCharacters(text: string): string {
  return Array.from(text.slice(0, 2 * NAME_LENGTH))
    .slice(0, NAME_LENGTH)
    .join("");
}

function validParams(body: unknown): A2ATaskParams {
  try {
    return readTaskRequest(body);
  } catch (error) {
    if (!A2AError.is(error)) throw error;
    throw new ValidationError(
      error.detail ?? error.message,
      { ...error.details },
      { cause: error },
    );
  }
}

type AgentWithProject = A2AHostedAgent & { readonly defaultProjectId: string };

/** The agent that the request names, else one with the skill, else the first; all need a project. */
function findAgent<Database>(
  { db, listAgents = databaseMethod("listAgents") }: A2ATaskDeps<Database>,
  params: A2ATaskParams,
): AgentWithProject {
  const agents = inDeclaredOrder(listAgents(db))
    .filter((agent): agent is AgentWithProject => Boolean(agent.defaultProjectId))
    .map((agent) => ({ ...agent, skills: permittedTools(agent).map(({ name }) => name) }));
  const chosen = chooseAgent(agents, params);
  if (chosen === undefined) throw new NotFoundError("Agent with default project");
  return chosen;
}

/** Databases may list the agent first that was edited last, which says nothing about its duties. */
function inDeclaredOrder(agents: readonly A2AHostedAgent[]): readonly A2AHostedAgent[] {
  const times = new Map(agents.map((agent) => [agent, Date.parse(agent.createdAt ?? "")]));
  if ([...times.values()].some(Number.isNaN)) return agents;
  return agents.toSorted((one, other) => times.get(one)! - times.get(other)!);
}

function createSession<Database>(
  { db, createSession: create = databaseMethod("createSession") }: A2ATaskDeps<Database>,
  input: A2ASessionInput,
): A2AHostedSession {
  return create(db, input);
}

/** Calls a method of the database, for programs that inject no function of their own. */
function databaseMethod<Result>(name: string): (db: unknown, ...given: unknown[]) => Result {
  return (db, ...given) => {
    const method = (db as Readonly<Record<string, unknown>> | null | undefined)?.[name];
    if (typeof method === "function") return Reflect.apply(method, db, given) as Result;
    throw new ValidationError(`deps.${name} is needed, because deps.db has no ${name}()`, {
      field: `deps.${name}`,
    });
  };
}

/** A task with its session. Its state follows the events of the session, and only moves forward. */
class InboundTask {
  readonly task: Mutable<A2ATask> & { readonly messages: A2AMessage[] };
  readonly #params: A2ATaskParams;
  readonly #manager: A2AProcessManager;
  readonly #releases: (() => void)[] = [];
  #isCanceled = false;

  constructor(params: A2ATaskParams, manager: A2AProcessManager) {
    const now = new Date().toISOString();
    this.#params = params;
    this.#manager = manager;
    this.task = {
      id: randomUUID(),
      state: "submitted",
      messages: [a2aMessage("user", params.message)],
      sessionId: null,
      createdAt: now,
      updatedAt: now,
    };
  }

  get isOver(): boolean {
    return this.task.state === "completed" || this.task.state === "failed";
  }

  start(session: A2AHostedSession): void {
    const { message, skill, sourceAgent, depth = 1, timeoutMs = INBOUND_TIMEOUT_MS } = this.#params;
    this.task.sessionId = session.id;
    this.#move("working");
    this.#releases.push(startTimer(timeoutMs, () => this.#timeOut(), { unref: true }));
    this.#subscribe(session.id);
    this.#manager.startProcess(session, message, {
      depth,
      ...(skill !== undefined && { skill }),
      ...(sourceAgent !== undefined && { sourceAgent }),
    });
  }

  cancel(): void {
    if (this.isOver) return;
    this.#isCanceled = true;
    this.#stopProcess();
  }

  /** Ends the task once: later events change nothing. */
  end(state: "completed" | "failed", { text = "", a2aState }: Ending = {}): void {
    if (this.isOver) return;
    if (text !== "") this.task.messages.push(a2aMessage("agent", text));
    if (a2aState !== undefined) this.task.a2aState = a2aState;
    this.#move(state);
    for (const release of this.#releases.splice(0)) release();
  }

  #subscribe(sessionId: string): void {
    const listener: A2ASessionListener = (_, event) => this.#receive(readSessionEvent(event));
    const unsubscribe = this.#manager.subscribe(sessionId, listener);
    const release = unsubscribe ?? (() => this.#manager.unsubscribe?.(sessionId, listener));
    // The session may have ended while it was subscribed to.
    if (this.isOver) release();
    else this.#releases.push(release);
  }

  #receive(event: SessionEvent): void {
    if (this.isOver) return;
    switch (event.kind) {
      case "text":
        this.task.messages.push(a2aMessage("agent", event.text));
        this.#move("working");
        return;
      case "failure":
        return this.end("failed");
      case "end":
        return this.#isCanceled ? this.end("failed", CANCELED) : this.end("completed");
      case "other":
    }
  }

  #timeOut(): void {
    this.end("failed", { text: "Task timed out" });
    this.#stopProcess();
  }

  #stopProcess(): void {
    const { sessionId } = this.task;
    if (sessionId !== null) this.#manager.stopProcess?.(sessionId);
  }

  #move(state: A2ATaskState): void {
    this.task.state = state;
    this.task.updatedAt = new Date().toISOString();
  }
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

interface Ending {
  /** The last message of the agent. */
  readonly text?: string;
  readonly a2aState?: TaskState;
}

const CANCELED: Ending = { text: "Task canceled", a2aState: "canceled" };

/** The tasks of this process, oldest first. Those that are not over are never removed. */
class TaskStore {
  readonly #tasks = new Map<string, InboundTask>();

  add(inbound: InboundTask): void {
    if (this.#tasks.size >= MAX_TASKS) this.#prune();
    if (this.#tasks.size >= MAX_TASKS) {
      throw new TooManyTasksError(MAX_TASKS);
    }
    this.#tasks.set(inbound.task.id, inbound);
  }

  get(taskId: string): InboundTask | undefined {
    return this.#tasks.get(taskId);
  }

  clear(): void {
    this.#tasks.clear();
  }

  #prune(): void {
    const over = [...this.#tasks].filter(([, inbound]) => inbound.isOver).slice(0, PRUNED);
    for (const [taskId] of over) this.#tasks.delete(taskId);
  }
}

const MAX_TASKS = 1000;

const PRUNED = 100;

const TASKS = new TaskStore();
