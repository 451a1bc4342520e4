import type {
  Agent,
  AgentEvent,
  AgentInfo,
  AgentSkill,
  Binding,
  CallOptions,
  Connection,
  ListTasksRequest,
  ProtocolVersion,
  PushConfig,
  PushTarget,
  RawCard,
  SendMessageRequest,
  Task,
  TaskPage,
  Turn,
} from "@convoke/protocol";
import { type JsonObject, isObject } from "@convoke/protocol/internal";
import { BridgeRun } from "../bridge/bridge-run.ts";
import { Conversation, type ConversationOptions } from "../conversation/conversation.ts";
import { type Input, toMessage, type MessageOptions } from "../conversation/message.ts";
import type { Answer } from "../run/answer.ts";
import { type FollowOptions, followSettings } from "../run/follow-options.ts";
import { ResumingSource } from "../run/resuming-source.ts";
import type { RunRequest } from "../run/task-events.ts";
import { Run } from "../run/run.ts";
import { knowsMessages } from "../cards/card.ts";

interface Abortable {
  readonly signal?: AbortSignal | undefined;
}

/** How an answer is asked for as it comes. */
export interface StreamOptions extends MessageOptions, FollowOptions {
  /** Where the agent pushes the updates of the task to, besides the answer. */
  readonly pushConfig?: PushTarget | undefined;
}

export interface SendOptions extends StreamOptions {
  /** False takes the task as it is when the agent has just begun. */
  readonly wait?: boolean | undefined;
}

export interface GetOptions extends Abortable {
  /** At most so many of the newest messages; 0 leaves them out. */
  readonly historyLength?: number | undefined;
}

/** The first page of 50, without artifacts, unless said otherwise. */
export interface ListOptions extends Partial<ListTasksRequest>, Abortable {}

export interface SubscribeOptions extends FollowOptions {
  /** Goes on after this event, where the agent keeps its events; else it begins with the whole task. */
  readonly lastEventId?: string | undefined;
}

/**
 * An agent somewhere else. `connect` makes one. It is an agent like any other, so
 * it can be served: in other versions, by other bindings, at another address.
 */
export class RemoteAgent implements Agent {
  readonly #connection: Connection;
  #known: { readonly card: RawCard; readonly info: AgentInfo } | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The agent card as the agent wrote it. */
  get card(): RawCard {
    return this.#connection.card;
  }

  get name(): string {
    return typeof this.card["name"] === "string" ? this.card["name"] : new URL(this.url).host;
  }

  /** The address of the interface that is spoken to. */
  get url(): string {
    return this.#connection.speaking.url;
  }

  /** The version of A2A that is spoken. */
  get version(): ProtocolVersion {
    return this.#connection.speaking.version;
  }

  /** How it is spoken to. */
  get binding(): Binding {
    return this.#connection.speaking.binding;
  }

  /**
   * Says something and waits for the answer: until the task ended, or waits for
   * its caller. An agent that answers before that is asked from time to time.
   */
  async send(input: Input, options: SendOptions = {}): Promise<Answer> {
    const request = requestOf(input, options, options.wait !== false);
    return this.#run({ kind: "call", request }, options).result;
  }

  /** Says something and gives the answer as it comes, whatever happens to the connection. */
  stream(input: Input, options: StreamOptions = {}): Run {
    return this.#run({ kind: "stream", request: requestOf(input, options, true) }, options);
  }

  /** The events of a task that exists already, over questions and answers, until it ends. */
  subscribe(taskId: string, options: SubscribeOptions = {}): Run {
    return this.#run({ kind: "subscribe", taskId, lastEventId: options.lastEventId }, options);
  }

  /** A conversation of several turns, in one context. */
  conversation(options: ConversationOptions = {}): Conversation {
    return new Conversation(this.#connection, options);
  }

  /** What the card says, for whoever serves this agent. */
  get info(): AgentInfo {
    const { card } = this;
    // A server looks at it all the time, and it changes with the card only.
    if (this.#known?.card !== card) this.#known = { card, info: infoOf(card, this.name) };
    return this.#known.info;
  }

  /** Works on a turn of a task by having the agent do it. */
  run(turn: Turn): AsyncIterable<AgentEvent | readonly AgentEvent[]> {
    return new BridgeRun(this.#connection, turn).read();
  }

  get(taskId: string, { historyLength, signal }: GetOptions = {}): Promise<Task> {
    const request = { taskId, ...(historyLength !== undefined && { historyLength }) };
    return this.#connection.call("getTask", request, { signal });
  }

  /** One page of the caller's tasks, newest first. 1.0 can list, and some agents of 0.3 by REST. */
  list({ signal, ...request }: ListOptions = {}): Promise<TaskPage> {
    const whole = { pageSize: 50, includeArtifacts: false, ...request };
    return this.#connection.call("listTasks", whole, { signal });
  }

  /** Asks the agent to stop working on a task; the task as it is then. */
  cancel(taskId: string, { signal }: Abortable = {}): Promise<Task> {
    return this.#connection.call("cancelTask", { taskId }, { signal });
  }

  /** The card for callers whom the agent knows. From then on it is the card of this agent here. */
  extendedCard({ signal }: Abortable = {}): Promise<RawCard> {
    return this.#connection.call("getExtendedCard", undefined, { signal });
  }

  /** Where the agent pushes the updates of tasks to. */
  get push(): RemotePush {
    return new RemotePush(this.#connection);
  }

  /** Closes connections that are kept for later. What runs goes on. */
  close(): void {
    this.#connection.close();
  }

  #run(wanted: RunRequest, options: FollowOptions): Run {
    const settings = followSettings(options);
    const connection = this.#connection;
    const source = new ResumingSource(connection, wanted, settings);
    return new Run({ connection, source, signal: options.signal, onNotice: settings.onNotice });
  }
}

function requestOf(input: Input, options: StreamOptions, blocking: boolean): SendMessageRequest {
  const { pushConfig } = options;
  return { message: toMessage(input, options), blocking, ...(pushConfig && { pushConfig }) };
}

/** What a card says of an agent, for whoever serves it in its place. */
function infoOf(card: RawCard, name: string): AgentInfo {
  return {
    name,
    description: textIn(card, "description") ?? `The agent ${name}.`,
    version: textIn(card, "version") ?? "1.0.0",
    skills: skillsIn(card["skills"]),
    inputModes: textsIn(card, "defaultInputModes") ?? ["text/plain"],
    outputModes: textsIn(card, "defaultOutputModes") ?? ["text/plain"],
    ...optional(card, "documentationUrl"),
    ...optional(card, "iconUrl"),
    // Whether it answers without a task is known only when it does.
    replies: true,
    keepStreamOnInterrupt: false,
    takesMessages: false,
    // Before its task is known there is nothing to go on with but the message itself.
    restart: knowsMessages(card),
  };
}

function skillsIn(value: unknown): readonly AgentSkill[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isObject).flatMap((skill) => {
    const id = textIn(skill, "id");
    if (id === undefined) return [];
    return [
      {
        id,
        name: textIn(skill, "name") ?? id,
        description: textIn(skill, "description") ?? "",
        tags: textsIn(skill, "tags") ?? [],
        ...optionalList(skill, "examples"),
        ...optionalList(skill, "inputModes"),
        ...optionalList(skill, "outputModes"),
      },
    ];
  });
}

function textIn(fields: JsonObject, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function textsIn(fields: JsonObject, name: string): readonly string[] | undefined {
  const value = fields[name];
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return value.filter((text) => typeof text === "string");
}

function optional<Name extends string>(
  fields: JsonObject,
  name: Name,
): Partial<Readonly<Record<Name, string>>> {
  const text = textIn(fields, name);
  return text === undefined ? {} : ({ [name]: text } as Readonly<Record<Name, string>>);
}

function optionalList<Name extends string>(
  fields: JsonObject,
  name: Name,
): Partial<Readonly<Record<Name, readonly string[]>>> {
  const list = textsIn(fields, name);
  return list === undefined ? {} : ({ [name]: list } as Readonly<Record<Name, readonly string[]>>);
}

/** The push configs of an agent's tasks: where it sends their updates to. */
export class RemotePush {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Has the updates of a task pushed from now on. A config of the same id is replaced; without an id the agent chooses one. */
  set(taskId: string, target: PushTarget, { signal }: CallOptions = {}): Promise<PushConfig> {
    return this.#connection.call("createPushConfig", { taskId, target }, { signal });
  }

  /** A push config of a task; without an id the one that was set without an id. */
  get(taskId: string, id?: string, { signal }: CallOptions = {}): Promise<PushConfig> {
    const request = { taskId, ...(id !== undefined && { id }) };
    return this.#connection.call("getPushConfig", request, { signal });
  }

  /** All push configs of a task, on however many pages the agent has them. */
  async list(taskId: string, { signal }: CallOptions = {}): Promise<readonly PushConfig[]> {
    const all: PushConfig[] = [];
    for (let pageToken = ""; ;) {
      const request = { taskId, ...(pageToken && { pageToken }) };
      const page = await this.#connection.call("listPushConfigs", request, { signal });
      all.push(...page.configs);
      pageToken = page.nextPageToken;
      // An empty page ends it too: an agent that always promises more must not keep its caller forever.
      if (pageToken === "" || page.configs.length === 0) return all;
    }
  }

  /** Ends the pushing of one config. It may be gone already. */
  delete(taskId: string, id: string, { signal }: CallOptions = {}): Promise<void> {
    return this.#connection.call("deletePushConfig", { taskId, id }, { signal });
  }
}
