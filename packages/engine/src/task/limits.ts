import {
  A2AError,
  type A2APart,
  type AgentEvent,
  type ArtifactUpdateEvent,
  type Message,
  type StatusUpdateEvent,
  TASK_STATES,
  type TextPart,
  type Task,
  isTerminal,
} from "@convoke/protocol";
import type { Seq, TaskIndex } from "../log/backend.ts";

/**
 * How much of the server one caller or one agent can use (G14: no caller can
 * exhaust it). The error names the limit that was reached. All limits must be
 * positive integers.
 */
export interface Limits {
  /** Size of a request body, in bytes. Default 10 MiB: room for a few photographs in base64. */
  readonly bodyBytes: number;
  /** Parts of a message. Default 1000. */
  readonly parts: number;
  /** Characters of one text part of a message. Default 2,000,000. */
  readonly textLength: number;
  /** Messages in the history of a task. Default 10,000. */
  readonly history: number;
  /** Artifacts of a task. Default 1000. */
  readonly artifacts: number;
  /** Characters of all artifacts of a task, as stored. Default 64 Mi. */
  readonly artifactLength: number;
  /** Events in the log of a task. Default 1,000,000. */
  readonly events: number;
  /** Unfinished tasks of one owner. Default 20,000. */
  readonly openTasks: number;
  /** Open streams on one task. Default 10,000. */
  readonly streams: number;
  /** Open streams of one owner, on all its tasks. Default 10,000. */
  readonly ownerStreams: number;
  /**
   * Size of the tasks on one page of a list, in bytes; a page has at least one task. Default 8 MiB,
   * a hundred tasks of 80 KB, because a page is in memory several times while it is written.
   */
  readonly pageBytes: number;
  /** Open connections to the port of a server. Default 20,000. */
  readonly connections: number;
  /**
   * Open connections from one address. Default 2000. Not applied if the server trusts a proxy, whose
   * address all connections have.
   */
  readonly addressConnections: number;
  /**
   * Bytes of responses that clients have not read yet, over all connections. Default 256 MiB. Streams
   * do not count: each holds a page of 64 KiB, or shares one larger event with the others.
   */
  readonly unreadBytes: number;
}

export const DEFAULT_LIMITS: Limits = {
  bodyBytes: 10 * 1024 * 1024,
  parts: 1000,
  textLength: 2_000_000,
  history: 10_000,
  artifacts: 1000,
  artifactLength: 64 * 1024 * 1024,
  events: 1_000_000,
  openTasks: 20_000,
  streams: 10_000,
  ownerStreams: 10_000,
  pageBytes: 8 * 1024 * 1024,
  connections: 20_000,
  addressConnections: 2000,
  unreadBytes: 256 * 1024 * 1024,
};

/** Adds the defaults and validates the result. */
export function resolveLimits(options: Partial<Limits> = {}): Limits {
  const limits = { ...DEFAULT_LIMITS, ...options };
  for (const [name, limit] of Object.entries(limits)) {
    if (!Number.isInteger(limit) || limit < 1) {
      throw new RangeError(`limits.${name} must be a whole number above 0, not ${limit}`);
    }
  }
  return limits;
}

/** Rejects a message that exceeds a limit. */
export function checkMessageSize({ parts }: Message, limits: Limits): void {
  if (parts.length > limits.parts) {
    throw exceeded("parts", limits, "message.parts", `has ${parts.length} parts`);
  }
  for (const [index, part] of parts.entries()) {
    if (part.kind === "text" && part.text.length > limits.textLength) {
      const field = `message.parts[${index}].text`;
      throw exceeded("textLength", limits, field, `has ${part.text.length} characters`);
    }
  }
}

/** Rejects another message to a task whose history is full. */
export function checkHistory({ id, history }: Task, limits: Limits): void {
  if ((history?.length ?? 0) < limits.history) return;
  const problem = `is a task with ${history?.length} messages; begin a new one (${id} is full)`;
  throw exceeded("history", limits, "message.taskId", problem);
}

function exceeded(limit: keyof Limits, limits: Limits, field: string, problem: string): A2AError {
  const most = limits[limit];
  return new A2AError("InvalidParams", `${field} ${problem}, the limit ${limit} is ${most}`, {
    field,
    details: { limit, most: String(most) },
  });
}

/** An agent exceeded a limit. Its task fails, and its status names the limit. */
export class LimitError extends Error {
  override readonly name = "LimitError";
  readonly limit: keyof Limits;

  constructor(limit: keyof Limits, most: number) {
    super(`${limit} is limited to ${most}`);
    this.limit = limit;
  }
}

/** Counts what an agent writes to one task. */
export class OutputLimits {
  readonly #limits: Limits;
  #events: Seq;
  #history: number;
  /** Created with the first one: most tasks that wait have none. */
  #artifacts: Set<string> | undefined;
  #length: number;
  #lastArtifact = "";

  /** @param task the task when the run starts */
  constructor(limits: Limits, task: Task, head: Seq) {
    const artifacts = task.artifacts ?? [];
    this.#limits = limits;
    this.#events = head;
    this.#history = task.history?.length ?? 0;
    if (artifacts.length > 0) {
      this.#artifacts = new Set(artifacts.map(({ artifactId }) => artifactId));
    }
    this.#length = artifacts.reduce((sum, { parts }) => sum + lengthOf(parts), 0);
  }

  /** Counts events before they are written, up to the first that exceeds a limit, which is returned. */
  firstBeyond(
    events: readonly AgentEvent[],
  ): { readonly index: number; readonly error: LimitError } | undefined {
    for (let index = 0; index < events.length; index++) {
      const limit = this.#count(events[index]!);
      if (limit !== undefined) return { index, error: new LimitError(limit, this.#limits[limit]) };
    }
    return undefined;
  }

  /** Returns the limit that this event exceeds. */
  #count(event: AgentEvent): keyof Limits | undefined {
    if (++this.#events > this.#limits.events) return "events";
    if (event.kind === "artifact-update") return this.#countArtifact(event as ArtifactUpdateEvent);
    if (event.kind !== "status-update") return undefined;
    // The message of a status moves to the history when the next status arrives.
    const hasMessage = (event as StatusUpdateEvent).status.message !== undefined;
    return hasMessage && ++this.#history > this.#limits.history ? "history" : undefined;
  }

  #countArtifact({ artifact }: ArtifactUpdateEvent): keyof Limits | undefined {
    const { artifactId, parts } = artifact;
    if (artifactId !== this.#lastArtifact) {
      this.#artifacts = (this.#artifacts ?? new Set()).add(artifactId);
      this.#lastArtifact = artifactId;
      if (this.#artifacts.size > this.#limits.artifacts) return "artifacts";
    }
    this.#length += lengthOf(parts);
    return this.#length > this.#limits.artifactLength ? "artifactLength" : undefined;
  }
}

function lengthOf(parts: readonly A2APart[]): number {
  let length = 0;
  for (const part of parts) {
    length += part.kind === "text" ? part.text.length : lengthOfOther(part);
  }
  return length;
}

/** A file counts as much as its base64 would take, whether it is in the log or not. */
function lengthOfOther(part: Exclude<A2APart, TextPart>): number {
  if (part.kind !== "file") return JSON.stringify(part).length;
  const { bytes = "", stored, ...file } = part.file;
  const length = stored === undefined ? bytes.length : Math.ceil(stored.size / 3) * 4;
  return length + JSON.stringify({ ...part, file }).length;
}

/** Counts the unfinished tasks of each owner. */
export class OpenTasks {
  readonly #limit: number;
  readonly #counts = new Counts();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Counts a task that an earlier process created, regardless of the limit. */
  add(owner: string): void {
    this.#counts.add(owner);
  }

  /** Counts a task that is about to be created, or rejects it. */
  admit(owner: string): void {
    if (this.#counts.get(owner) >= this.#limit) throw tooManyTasks(this.#limit);
    this.add(owner);
  }

  remove(owner: string): void {
    this.#counts.remove(owner);
  }

  /** The unfinished tasks of all owners. */
  get total(): number {
    return this.#counts.total;
  }
}

function tooManyTasks(limit: number): A2AError {
  const problem = `you have ${limit} unfinished tasks (the limit openTasks): answer or cancel some first`;
  return new A2AError("TooManyRequests", problem, {
    details: { limit: "openTasks", most: String(limit) },
  });
}

/** How long a count of the store is used. */
const COUNT_MS = 1000;

/** The unfinished tasks of an owner. */
interface OwnerCount {
  /** When they were counted, by `performance.now()`. */
  readonly at: number;
  tasks: number;
}

/**
 * Counts the unfinished tasks of each owner in a storage that other processes use too: as many as
 * there were a moment ago, and what this process has created since.
 */
export class SharedOpenTasks {
  readonly #limit: number;
  readonly #tasks: Pick<TaskIndex, "list">;
  readonly #counts = new Map<string, OwnerCount>();
  /** The counts that the store is being asked for. */
  readonly #counting = new Map<string, Promise<OwnerCount>>();

  constructor(limit: number, tasks: Pick<TaskIndex, "list">) {
    this.#limit = limit;
    this.#tasks = tasks;
  }

  /** Counts a task that is about to be created, or rejects it. */
  async admit(owner: string): Promise<void> {
    const known = this.#counts.get(owner);
    const isFresh = known !== undefined && performance.now() - known.at < COUNT_MS;
    const count = isFresh ? known : await this.#counted(owner);
    if (count.tasks >= this.#limit) throw tooManyTasks(this.#limit);
    count.tasks++;
  }

  /** Other processes count it too, so it is counted by the store. */
  add(_owner: string): void {}

  remove(owner: string): void {
    const known = this.#counts.get(owner);
    if (known !== undefined) known.tasks--;
  }

  /** The unfinished tasks of all owners that have created tasks here. */
  get total(): number {
    return [...this.#counts.values()].reduce((sum, { tasks }) => sum + tasks, 0);
  }

  /** Tasks that are created at the same time share one count. */
  #counted(owner: string): Promise<OwnerCount> {
    let counting = this.#counting.get(owner);
    if (counting === undefined) {
      counting = this.#count(owner).finally(() => this.#counting.delete(owner));
      this.#counting.set(owner, counting);
    }
    return counting;
  }

  async #count(owner: string): Promise<OwnerCount> {
    const states = TASK_STATES.filter((state) => !isTerminal(state));
    const pages = await Promise.all(
      states.map((state) => this.#tasks.list({ owner, state, limit: 0 })),
    );
    const tasks = pages.reduce((sum, { total }) => sum + total, 0);
    const count = { at: performance.now(), tasks };
    for (const [other, { at }] of this.#counts) {
      if (count.at - at >= COUNT_MS) this.#counts.delete(other);
    }
    this.#counts.set(owner, count);
    return count;
  }
}

/** A stream of events of a task. */
interface StreamFacts {
  readonly taskId: string;
  readonly owner: string;
}

/** Counts the open streams on each task, and those of each owner. */
export class OpenStreams {
  readonly #limits: Pick<Limits, "streams" | "ownerStreams">;
  readonly #byTask = new Counts();
  readonly #byOwner = new Counts();

  constructor(limits: Pick<Limits, "streams" | "ownerStreams">) {
    this.#limits = limits;
  }

  /** Rejects another stream if the task or its owner has too many. */
  admit({ taskId, owner }: StreamFacts): void {
    const { streams, ownerStreams } = this.#limits;
    if (this.#byTask.get(taskId) >= streams) {
      const problem = `task ${taskId} has ${streams} open streams (the limit streams): close one first`;
      throw new A2AError("TooManyRequests", problem, {
        details: { limit: "streams", most: String(streams), taskId },
      });
    }
    if (this.#byOwner.get(owner) < ownerStreams) return;
    const problem = `you have ${ownerStreams} open streams (the limit ownerStreams): close one first`;
    throw new A2AError("TooManyRequests", problem, {
      details: { limit: "ownerStreams", most: String(ownerStreams) },
    });
  }

  /** The open streams of all owners. */
  get total(): number {
    return this.#byOwner.total;
  }

  /** Whether the task has an open stream. */
  has(taskId: string): boolean {
    return this.#byTask.get(taskId) > 0;
  }

  open({ taskId, owner }: StreamFacts): void {
    this.#byTask.add(taskId);
    this.#byOwner.add(owner);
  }

  close({ taskId, owner }: StreamFacts): void {
    this.#byTask.remove(taskId);
    this.#byOwner.remove(owner);
  }
}

/** Counters by name. A counter at 0 takes no memory. */
export class Counts {
  readonly #counts = new Map<string, number>();
  #total = 0;

  /** The sum of all counters. */
  get total(): number {
    return this.#total;
  }

  get(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string): void {
    this.#total++;
    this.#counts.set(name, this.get(name) + 1);
  }

  remove(name: string): void {
    const before = this.get(name);
    if (before === 0) return;
    this.#total--;
    const count = before - 1;
    if (count > 0) this.#counts.set(name, count);
    else this.#counts.delete(name);
  }
}
