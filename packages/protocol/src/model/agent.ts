/// <reference lib="esnext.disposable" preserve="true" />
import type { AgentCommand } from "./command.ts";
import type { Binding, Connection, RawCard, TraceContext } from "./connection.ts";
import type { Dialect } from "./dialect.ts";
import type { AgentEvent } from "./events.ts";
import type { InternalEvent } from "./journal.ts";
import type { OpenValues } from "./key-values.ts";
import type { Message } from "./message.ts";
import type { Metrics } from "./metrics.ts";
import type { FilePart, Metadata } from "./part.ts";
import type { CardSecurity, SecurityRequirement } from "./security.ts";
import type { A2AArtifact, Task } from "./task.ts";
import type { CalledTasks } from "./task-calls.ts";
import type { OperationName, ProtocolVersion } from "./operations.ts";

/**
 * Something that can work on a task. The server calls it; a function, the
 * agent loop, a process or a remote agent implement it.
 */
export interface Agent {
  /**
   * Identifies the agent to its stored tasks: 1 to 64 lower case letters, digits, ".", "_" or "-".
   * Default: made of its name at the first start and kept with its data.
   */
  readonly id?: string | undefined;
  /** May be replaced by another object later; stays the same object while nothing in it changes. */
  readonly info: AgentInfo;
  /** Works on one turn and yields the events to append, one by one or in batches. */
  run(turn: Turn): AsyncIterable<AgentEvent | readonly AgentEvent[]>;
  /**
   * Loads what `accept` needs for a message to this task, because `accept` cannot wait. Returns
   * undefined if there is nothing to load.
   */
  beforeAccept?(task: Task): Promise<void> | undefined;
  /**
   * Inspects a message to a waiting task before it is stored. Throw an `A2AError` to reject it; the
   * task is then left unchanged. Returns the message to store, which may omit secrets: the waiting
   * run still receives the message as it was sent. Must depend on its arguments only, because a
   * repeated message is recognized by the stored result. For a message that arrives while the task
   * is not waiting, it may throw an error that is more helpful than the server's own.
   *
   * Without it, every message is accepted and stored as it is.
   */
  accept?(task: Task, message: Message, at: Date): Message;
  /**
   * Called when a task is canceled that the agent is not working on at the moment, because its turn
   * was waiting and had been dropped, or the process crashed in between. The journal says what the
   * agent started elsewhere and should now stop. May be called more than once. `owner` is the owner
   * of the task: a context id alone does not identify a conversation.
   */
  abandon?(task: Task, journal: readonly InternalEvent[], owner: string): void;
  /**
   * Says what works on a task: its id, context and state, and the model, MCP servers and tools of
   * the agent. May be called at any time, for a task in any state. Callers that activate the
   * extension `run-report` receive it. `owner` is the owner of the task.
   */
  report?(task: Task, owner: string): Metadata;
  /** What callers have approved for always. Absent if the agent cannot list it. */
  readonly grants?: AgentGrants;
  /**
   * Finds the tasks of an agent that this one calls, by the name that a `TaskCall` has. Operators
   * read call trees through it. Returns undefined if there is no such agent (any more).
   */
  called?(agent: string | undefined): CalledTasks | undefined;
  /** The agent elsewhere that this one forwards its tasks to. Operators see where it is, and its card. */
  readonly remote?: RemoteSource;
  /**
   * The formats in which callers that activate their extensions see the tasks of the agent. The
   * agent declares these extensions in its `info`. Without it, every caller sees plain A2A.
   */
  readonly dialects?: readonly Dialect[];
  /**
   * Converts a message to a waiting task from the form of a dialect to the one that `accept` and
   * `run` understand. Throw an `A2AError` to reject it. Must depend on its arguments only, and
   * return a converted message as it is, because it may be called again for the same message.
   */
  translate?(message: Message, task: Task): Message;
  /**
   * The tools that the agent may use, in declared order. Called for each request, because the tools
   * of its MCP servers come and go.
   */
  tools?(): readonly AgentTool[];
  /** The commands that callers can list and run. Called for each request, because they may change. */
  commands?(): readonly AgentCommand[] | Promise<readonly AgentCommand[]>;
  /**
   * Erases for good what the agent itself keeps about an owner or a conversation, in addition to its
   * tasks. May be called again for the same, if the process ended before everything was erased.
   */
  erase?(scope: ErasureScope): Promise<void>;
  /** Receives its environment before the first turn in a server. */
  prepare?(place: AgentEnvironment): void;
  /**
   * Called when the server stops, while what its turns have begun may end: the agents that it runs
   * in this process begin nothing any more, and get the same time.
   */
  drain?(withinMs: number): Promise<void>;
  /** Releases resources such as child processes. None of its turns runs any more; it may be served again. */
  [Symbol.asyncDispose]?(): PromiseLike<void>;
}

/** What callers have approved for always. */
export interface AgentGrants {
  /** Those of all callers. */
  list(): Promise<readonly ToolGrant[]>;
  /** The caller is asked again for the next call. Resolves to false if there is no such grant. */
  remove(grant: Pick<ToolGrant, "owner" | "toolName">): Promise<boolean>;
}

/** A tool that a caller has approved for always. */
export interface ToolGrant {
  readonly owner: string;
  readonly toolName: string;
  /** When, in the format of RFC 3339. Absent if it was not stored. */
  readonly grantedAt?: string;
}

/** A tool of an agent, as a card or a list shows it. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
}

/** The environment in which an agent is served. */
export interface AgentEnvironment {
  /** Identifies this agent, also after a restart: its id and a unique suffix. */
  readonly id?: string;
  /**
   * Runs another agent in the same process, for this agent only. Its tasks are its own and are
   * stored next to those of this agent.
   */
  readonly runBeside?: (name: string, agent: Agent) => Promise<LocalAgent>;
  /** The data folder, where the agent may keep files of its own. Absent when nothing is stored. */
  readonly folder?: string;
  /**
   * Opens collections of values that this agent has in common in all processes that serve it. Absent
   * if only one process at a time can serve it: then it has its folder for them.
   */
  readonly values?: OpenValues;
  /** For messages to the operator. */
  readonly logger?: {
    debug(message: string, fields?: Metadata): void;
    warn(message: string, fields?: Metadata): void;
  };
  /** For measurements. Absent if nothing is measured. */
  readonly metrics?: Metrics;
}

/** What spans contain, if the process has an OpenTelemetry SDK. */
export interface TracingOptions {
  /**
   * Whether spans contain prompts, answers, and the arguments and results of tools. Default: only if
   * the environment variable `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says so, because
   * everyone with access to the traces could read every conversation. Sensitive answers are masked in any case.
   */
  readonly content?: boolean;
  /**
   * Whether each chunk of an artifact is an event of its span. Default false: only the first one,
   * because an answer has hundreds of chunks and SDKs keep 128 events per span.
   */
  readonly chunks?: boolean;
}

/** What is erased. None of its tasks runs any more. */
export interface ErasureScope {
  readonly owner: string;
  /** Whether everything of the owner is erased. If not, only what belongs to these conversations. */
  readonly isWholeOwner: boolean;
  /** The conversations of the erased tasks. */
  readonly contextIds: readonly string[];
  /** The erased tasks. What other agents of this process did for them is erased, too. */
  readonly taskIds: readonly string[];
}

/** An agent that runs in the process of another one. */
export interface LocalAgent extends AsyncDisposable {
  /** Connects to it on behalf of a caller. Each caller sees only its own tasks. */
  connect(caller: Caller): Connection;
  /** Its tasks, for the call trees of the agent that runs it. */
  readonly tasks: CalledTasks;
  /** Erases its tasks for the given ones of the agent that runs it, or all of an owner. */
  erase(scope: ErasureScope): Promise<void>;
  /** Begins nothing any more, and lets what has begun end within the time. Close it afterwards. */
  drain(withinMs: number): Promise<void>;
}

/** One run of an agent on a task. */
export interface Turn {
  /** The task as it was when the turn started. */
  readonly task: Task;
  /** The message that started the turn. */
  readonly message: Message;
  /** Earlier messages and answers of this context and owner, oldest first; fixed when the task is created. */
  readonly conversation: readonly Message[];
  /** Internal events of earlier attempts at this turn, and messages they received, in order; empty on the first attempt. */
  readonly journal: readonly InternalEvent[];
  /**
   * An artifact of the task as it is now, including those that earlier attempts at this turn wrote.
   * Undefined if there is none.
   */
  readonly findArtifact?: (artifactId: string) => A2AArtifact | undefined;
  /**
   * Reads the content of file parts. The message of the turn has the bytes of its files, except those
   * of files that are larger than the server shows to clients; messages of the conversation and
   * artifacts have only references to large files. Absent outside of an engine.
   */
  readonly files?: TurnFiles;
  /** When the turn began, as recorded in the log. */
  readonly startedAt?: Date;
  /** Tells the operator. While an agent is developed, a mistake of its code is thrown instead. */
  readonly warn?: (message: string, options?: { readonly isMistake?: boolean }) => void;
  /** 1 for the first attempt, incremented each time the turn is started again. */
  readonly attempt: number;
  readonly caller: Caller;
  /** The URIs of the extensions that the message which started the turn activated. */
  readonly extensions: ReadonlySet<string>;
  /** The id of the skill that this message chose, if the extension `skill` is active. */
  readonly skill?: string;
  /**
   * The trace to continue in requests to other services: that of the caller, if it sent one, and the
   * span of this run in it, if the process has an OpenTelemetry SDK.
   */
  readonly trace?: TraceContext;
  /** Whether a completed status should carry the answer as its message. Default false. */
  readonly finalMessage?: boolean;
  /** What spans of this run may contain. Default: no content. */
  readonly tracing?: TracingOptions;
  /**
   * Aborts when the task is canceled or has ended otherwise, and when the run is given up without
   * ending the task: then its reason is a `ServerStopping`. Release what the run holds then, and undo
   * nothing: another attempt continues the task.
   */
  readonly signal: AbortSignal;
  /** Messages that arrive while the agent works, for agents that take them. */
  readonly inbox: AsyncIterator<Message, undefined>;
  /**
   * Waits for the caller's next message (after a status that asks for one) or until a time.
   * Resolves to the message, or to `undefined` at that time. The run may be dropped while it
   * waits; the turn is then started again with its journal. Only the last call counts.
   *
   * Pass a signal to withdraw the question: when it aborts before an answer arrives, the task
   * returns to working and the wait resolves to `undefined`. Such a run is not dropped, and if its
   * `internal:ask` says `isWatched`, it is started again when its server starts.
   */
  readonly park: (until?: Date, recall?: AbortSignal) => Promise<Message | undefined>;
  /**
   * When the last `park` of this run ended, as recorded in the log. Use it instead of `now` to decide
   * whether something had expired: a later attempt finds the same time in its journal.
   */
  readonly resumedAt?: Date;
  /** Resolves when everything yielded so far is committed. Never, if the run is given up first. */
  readonly durable: () => Promise<void>;
  /**
   * Call it before something begins that a stop of the server must not cut: a step, a tool, a call of
   * a model. Resolves when that may begin, to a function to call once its end is yielded. A server
   * that stops waits for what has begun, for as long as it drains; from then on `begin` never
   * resolves, and neither does the function once the run is given up. A cancel rejects.
   */
  readonly begin: (beginning: Beginning) => Promise<() => Promise<void>>;
  readonly now: () => Date;
  /** Returns an id that a later attempt at the same turn gets again, so that a replay can be exact. */
  readonly id: () => string;
}

/** What an agent is about to begin, see `Turn.begin`. */
export interface Beginning {
  /** Its name, for the log of a server that had to cut it: `step "charge"`. */
  readonly name: string;
  /**
   * The event that announces it, and how to yield it: resolves when the engine has taken it. It is
   * committed before anything begins. If the server stops in between, it is taken back.
   */
  readonly start?: { readonly event: InternalEvent; readonly announce: () => Promise<void> };
}

/** Reads the content of file parts. Both functions reject a part that only has a `uri`. */
export interface TurnFiles {
  bytes(part: FilePart): Promise<Uint8Array>;
  /** The content piece by piece, for files that do not fit into memory. */
  stream(part: FilePart): AsyncIterable<Uint8Array>;
}

/** The authenticated caller of a request. */
export interface Caller {
  /**
   * Owns the tasks that the caller creates; other owners cannot see them. In a tenant, it is unique
   * across tenants: the same name in another tenant is another owner.
   */
  readonly owner: string;
  /** The tenant that the caller belongs to, or that its request names. */
  readonly tenant?: string;
  /** What the caller may do, as its credentials say. */
  readonly scopes?: readonly string[];
  /** Other facts about the caller, such as the claims of its token: any JSON. They are stored with its tasks. */
  readonly claims?: Metadata;
}

/**
 * The reason in a turn's signal when its run is given up: its server stops, or another server has the
 * task. The task is not canceled: the next attempt resumes it, so work that the agent delegated must
 * not be canceled either.
 */
export class ServerStopping extends Error {
  /**
   * Whether functions and tools do not find out: their own signals do not fire, because whatever they
   * did then would be wrong for a task that continues. They do if the program that runs the agent has
   * left the task itself.
   */
  readonly isSilent: boolean;

  constructor({ isSilent = true }: { readonly isSilent?: boolean } = {}) {
    super("the server is stopping");
    this.name = "ServerStopping";
    this.isSilent = isSilent;
  }

  /** Compares by name, so that two copies of this package agree. */
  static is(reason: unknown): reason is ServerStopping {
    return reason instanceof Error && reason.name === "ServerStopping";
  }

  static isSilent(reason: unknown): boolean {
    return ServerStopping.is(reason) && reason.isSilent;
  }
}

/**
 * Thrown by a run whose code no longer fits the journal that it resumes from, because the agent was
 * changed while its task was open. The task fails with the reason `changed`.
 */
export class AgentChanged extends Error {
  /** What an earlier attempt did at this place, as code: `ask("Refund 30 EUR?")`. */
  readonly recorded: string;
  /** What the code does there now. */
  readonly requested: string;

  constructor({ recorded, requested }: { readonly recorded: string; readonly requested: string }) {
    super(`the journal has ${recorded} where the agent now calls ${requested}`);
    this.name = "AgentChanged";
    this.recorded = recorded;
    this.requested = requested;
  }

  /** Compares by name, so that two copies of this package agree. */
  static is(error: unknown): error is AgentChanged {
    return error instanceof Error && error.name === "AgentChanged";
  }
}

/** A skill of an agent, as its card lists it. */
export interface AgentSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly examples?: readonly string[];
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
  /** Which schemes of the card a caller of this skill has to use, as alternatives, with the scopes it needs. Default: those of the card. */
  readonly security?: readonly SecurityRequirement[];
}

/** An extension that an agent supports, as its card declares it (0.3 §5.5.2.1, 1.0 §4.4.4). */
export interface AgentExtension {
  /** Identifies the extension: callers activate it with exactly this text. */
  readonly uri: string;
  readonly description?: string;
  /** Requests that do not activate the extension are rejected. */
  readonly required?: boolean;
  /** What callers need to know to use it: any JSON object. */
  readonly params?: Metadata;
}

/** What the card says about an agent, and how the agent wants to be served. */
export interface AgentInfo {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly skills: readonly AgentSkill[];
  readonly inputModes: readonly string[];
  readonly outputModes: readonly string[];
  readonly documentationUrl?: string;
  readonly iconUrl?: string;
  readonly provider?: { readonly organization: string; readonly url: string };
  /** Extensions that the agent supports; the server adds its own. */
  readonly extensions?: readonly AgentExtension[];
  /** The agent may answer with a single message and no task; its task stays hidden until its first event decides. */
  readonly replies: boolean;
  /** At input-required, write `final: false` and keep the stream open. */
  readonly keepStreamOnInterrupt: boolean;
  /** The agent accepts messages while it works; they arrive through `Turn.inbox`. */
  readonly takesMessages: boolean;
  /**
   * Start an interrupted run over after a crash instead of failing the task as interrupted. Output that
   * is the same again is not written again.
   */
  readonly restart: boolean;
  /** A `completed` status without a message gets the text of the artifacts of its turn as one. */
  readonly finalMessage?: true;
  /** `false`: a run has no effects except in its events, so it may begin before its task is stored. It may have some if absent. */
  readonly sideEffects?: false;
  /** Its tasks need what is on the disk of one machine, so only processes there work on them. */
  readonly local?: boolean;
  /** Time limit for a whole task, in milliseconds. No limit if absent. */
  readonly timeoutMs?: number;
  /** What happens to a task that the agent works on when the last client disconnects from its stream. Continues if absent. */
  readonly onDisconnect?: "continue" | "cancel";
  /** How long the agent waits for an answer, and what happens then. Waits indefinitely if absent. */
  readonly inputTimeout?: InputTimeout;
  /** The scopes that callers need. None if absent. */
  readonly scopes?: RequiredScopes;
}

/** The scopes that a caller needs, of which all in a list are required. What is not named needs none. */
export interface RequiredScopes<Operation extends string = OperationName> {
  /** By the id of a skill, for messages that name it. */
  readonly skills?: Readonly<Record<string, readonly string[]>>;
  readonly operations?: Readonly<Partial<Record<Operation, readonly string[]>>>;
}

/** What happens to an unanswered question: the agent continues without an answer, or the task fails. */
export interface InputTimeout {
  readonly ms: number;
  readonly onTimeout: "continue" | "fail";
}

/** Everything a card says about a served agent; each version's codec writes it in its own format. */
export interface AgentCardFacts {
  readonly info: AgentInfo;
  /** In order of preference. */
  readonly interfaces: readonly AgentInterface[];
  readonly capabilities: AgentCapabilities;
  /** How callers authenticate. Absent if every caller is accepted. */
  readonly security?: CardSecurity;
}

/** One endpoint of the agent. */
export interface AgentInterface {
  readonly url: string;
  readonly binding: "JSONRPC" | "HTTP+JSON" | "GRPC";
  readonly version: ProtocolVersion;
  /** 1.0 only: the tenant that callers of this endpoint must send (1.0 §8.3.2). */
  readonly tenant?: string;
}

export interface AgentCapabilities {
  readonly streaming: boolean;
  readonly pushNotifications: boolean;
  /** There is an extended card for authenticated callers. */
  readonly extendedAgentCard?: boolean;
  /** Extensions of the agent and of the server. */
  readonly extensions?: readonly AgentExtension[];
}

/** An agent elsewhere, and how it is called. */
export interface RemoteSource {
  /** The URL of the interface in use. */
  readonly url: string;
  readonly version: ProtocolVersion;
  readonly binding: Binding;
  /** The card as the agent wrote it. */
  readonly card: RawCard;
}
