import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type AgentEvent,
  type CalledTasks,
  type StatusUpdateEvent,
  type Task,
  type TaskCall,
  type TaskFacts,
  callIn,
  isTerminal,
  joinCalls,
  taskFacts,
} from "@convoke/protocol";
import type { TaskRecord } from "../log/backend.ts";
import type { Engine } from "../run/engine.ts";
import type { OwnersCall } from "./list-page.ts";
import { readStart, usageIn } from "./task-records.ts";
import { findTaskRecord } from "./task-log.ts";

/** A task in a call tree. */
export interface CallTreeNode extends Omit<TaskFacts, "calls" | "references" | "state"> {
  /** The task that called it. Absent for the root. */
  readonly parentId?: string;
  /** 0 for the root. */
  readonly depth: number;
  /** The name of the agent in the definition of the calling one. Absent for the root. */
  readonly calledAs?: string;
  /** Absent if the task cannot be read and the calling task has not noted it. */
  readonly state?: TaskFacts["state"];
  /** `here`: a task of this server. `unknown`: of an agent that the calling one does not have any more. */
  readonly where: "here" | "remote" | "unknown";
  /** Where a remote agent is asked. */
  readonly address?: string;
  /** Why a task could not be read. Then it has the state that the calling task has noted. */
  readonly problem?: string;
}

export interface CallTree {
  readonly rootId: string;
  /** The root first, then level by level. */
  readonly nodes: readonly CallTreeNode[];
  /** Whether there are more tasks than are shown. */
  readonly isTruncated: boolean;
}

export interface CallTreeRequest {
  readonly taskId: string;
  /** Whether agents elsewhere are asked about their tasks. If not, what the calling task has noted is shown. */
  readonly asksRemotes: boolean;
}

const MAX_NODES = 500;

const MAX_DEPTH = 20;

/** How many events all tasks of a tree may have together before the rest is left out. */
const MAX_EVENTS = 200_000;

/** How long all remote agents together have to answer. */
const REMOTE_MS = 5000;

/** How many tasks are read at a time. */
const AT_ONCE = 8;

/**
 * Reads the call tree that a task belongs to: the task at its root, and all tasks that agents have
 * started for it, here and elsewhere. A tree belongs to a task if both say so, the calling task and
 * the first message of the called one, because an agent elsewhere can name any task.
 */
export async function readCallTree(request: CallTreeRequest, call: OwnersCall): Promise<CallTree> {
  const record = await findTaskRecord(request.taskId, call);
  const isVisible = ({ owner }: TaskRecord): boolean =>
    owner === call.caller.owner || call.owners?.(owner) === true;
  const stored = new StoredTasks(call.engine, isVisible);
  const walk = new TreeWalk(stored, { ...request, logger: call.engine.logger });
  return walk.from(await rootOf(record, stored));
}

/** Follows the references upwards, as long as the tasks can be read here. */
async function rootOf(record: TaskRecord, stored: StoredTasks): Promise<TaskRecord> {
  const seen = new Set<string>();
  let top = record;
  while (seen.size < MAX_DEPTH && !seen.has(top.taskId)) {
    seen.add(top.taskId);
    const parent = await stored.callerOf(top);
    if (parent === undefined) break;
    top = parent;
  }
  return top;
}

/** A task of the next level, and how it can be read. */
interface Branch {
  readonly call: TaskCall;
  readonly parentId?: string;
  /** The owner that the calling task works for. */
  readonly owner: string;
  readonly tasks?: CalledTasks | undefined;
}

/** Reads a tree level by level, each task once, so that a cycle ends. */
class TreeWalk {
  readonly #stored: StoredTasks;
  readonly #options: CallTreeRequest & Pick<Engine, "logger">;
  readonly #nodes: CallTreeNode[] = [];
  readonly #seen = new Set<string>();
  readonly #signal = AbortSignal.timeout(REMOTE_MS);

  constructor(stored: StoredTasks, options: CallTreeRequest & Pick<Engine, "logger">) {
    this.#stored = stored;
    this.#options = options;
  }

  async from({ taskId, contextId, owner }: TaskRecord): Promise<CallTree> {
    let level: readonly Branch[] = [{ call: { taskId, contextId }, owner }];
    let isTruncated = false;
    for (let depth = 0; level.length > 0; depth++) {
      const fresh = level.filter(({ call }) => !this.#seen.has(call.taskId));
      const room = depth < MAX_DEPTH ? MAX_NODES - this.#nodes.length : 0;
      isTruncated ||= fresh.length > room;
      level = await this.#readLevel(fresh.slice(0, room), depth);
    }
    const isCut = isTruncated || this.#stored.isSpent;
    return { rootId: taskId, nodes: this.#nodes, isTruncated: isCut };
  }

  async #readLevel(branches: readonly Branch[], depth: number): Promise<readonly Branch[]> {
    const next: Branch[] = [];
    for (const { call } of branches) this.#seen.add(call.taskId);
    for (let start = 0; start < branches.length; start += AT_ONCE) {
      const some = branches.slice(start, start + AT_ONCE);
      for (const { node, branches: below } of await Promise.all(
        some.map((one) => this.#read(one)),
      )) {
        this.#nodes.push({ ...node, depth });
        next.push(...below);
      }
    }
    return next;
  }

  async #read(branch: Branch): Promise<ReadBranch> {
    const { call, parentId, tasks } = branch;
    const stored = await this.#stored.find(call.taskId, parentId);
    if (stored !== undefined) {
      const { facts, owner } = stored;
      return grow({ ...branch, owner }, { facts, where: "here", called: stored.called });
    }
    if (tasks === undefined) return grow(branch, { where: "unknown" });
    const { where, address, called } = tasks;
    const place = { where, ...(address !== undefined && { address }) };
    if (where === "remote" && !this.#options.asksRemotes) return grow(branch, place);
    try {
      const facts = await tasks.read(call.taskId, { owner: branch.owner, signal: this.#signal });
      const problem = facts === undefined && "the agent does not have this task any more";
      return grow(branch, { ...place, facts, called, ...(problem && { problem }) });
    } catch (error) {
      this.#options.logger.warn("a task of another agent could not be read", {
        taskId: call.taskId,
        error,
      });
      const isTold = where === "remote" && error instanceof Error;
      const problem = isTold ? error.message : "it could not be read; the log has the cause";
      return grow(branch, { ...place, problem });
    }
  }
}

interface ReadBranch {
  readonly node: Omit<CallTreeNode, "depth">;
  readonly branches: readonly Branch[];
}

interface Found extends Pick<CallTreeNode, "where" | "address" | "problem"> {
  readonly facts?: TaskFacts | undefined;
  readonly called?: CalledTasks["called"] | undefined;
}

/** Makes a node of what was found, and the branches below it. */
function grow({ call, parentId, owner }: Branch, found: Found): ReadBranch {
  const { facts, called, ...place } = found;
  const { calls = [], references: _, ...shown } = facts ?? {};
  const { agent: calledAs, ...noted } = call;
  return {
    node: {
      ...(parentId !== undefined && { parentId }),
      ...(calledAs !== undefined && { calledAs }),
      ...noted,
      ...shown,
      taskId: call.taskId,
      ...place,
    },
    branches: calls.map((one) => ({
      call: one,
      parentId: call.taskId,
      owner,
      tasks: called?.(one.agent),
    })),
  };
}

interface StoredFacts {
  readonly facts: TaskFacts;
  readonly owner: string;
  /** Finds the tasks of the agents that its agent calls. */
  readonly called: CalledTasks["called"];
}

/** The tasks in the store of an engine. */
class StoredTasks {
  readonly #engine: Engine;
  readonly #isVisible: (record: TaskRecord) => boolean;
  #events = 0;

  constructor(engine: Engine, isVisible: (record: TaskRecord) => boolean) {
    this.#engine = engine;
    this.#isVisible = isVisible;
  }

  /** Whether so many events were read that the rest is left out. */
  get isSpent(): boolean {
    return this.#events >= MAX_EVENTS;
  }

  /** @param parentId the task that must have called it; absent if that does not matter */
  async find(taskId: string, parentId: string | undefined): Promise<StoredFacts | undefined> {
    const record = await this.#engine.backend.tasks.record(taskId);
    if (record === undefined || !this.#isVisible(record)) return undefined;
    const start = await readStart(this.#engine.backend, record);
    const references = referencesIn(start);
    if (parentId !== undefined && !references.includes(parentId)) return undefined;
    const facts = { ...(await this.#readFacts(record)), references };
    const definition = this.#engine.agents.of(record)?.definition;
    return { facts, owner: record.owner, called: (agent) => definition?.called?.(agent) };
  }

  /** The task that has called this one, if it can be read here. */
  async callerOf(record: TaskRecord): Promise<TaskRecord | undefined> {
    const { backend } = this.#engine;
    for (const taskId of referencesIn(await readStart(backend, record)).slice(0, MAX_DEPTH)) {
      const parent = await backend.tasks.record(taskId);
      if (parent === undefined || !this.#isVisible(parent)) continue;
      const { calls } = await this.#readFacts(parent);
      if (calls.some((call) => call.taskId === record.taskId)) return parent;
    }
    return undefined;
  }

  async #readFacts(record: TaskRecord): Promise<Omit<TaskFacts, "references">> {
    const { taskId, contextId, agent, agentId, state, createdAt, statusAt } = record;
    const { status, calls } = await this.#readLog(record);
    const usage = status && usageIn(status);
    const task = status && { kind: "task", id: taskId, contextId, status: status.status };
    const { question } = task === undefined ? {} : taskFacts(task as Task);
    return {
      taskId,
      contextId,
      agent,
      ...(agentId !== undefined && { agentId }),
      state,
      createdAt,
      ...(isTerminal(state) && { endedAt: statusAt }),
      ...(usage && { usage }),
      ...(question !== undefined && { question }),
      calls,
    };
  }

  /** The last status and the calls of a log. Only events that may have one of them are parsed. */
  async #readLog({ taskId, head }: TaskRecord) {
    const { backend } = this.#engine;
    const calls: TaskCall[] = [];
    let status: StatusUpdateEvent | undefined;
    for (let after = 0; after < head && !this.isSpent;) {
      const page = await backend.read(taskId, after, PAGE, PAGE_LENGTH);
      if (page.length === 0) break;
      this.#events += page.length;
      after = page.at(-1)!.seq;
      for (const { json } of page) {
        if (!WORTH_PARSING.test(json)) continue;
        const event = JSON.parse(json) as AgentEvent;
        if (event.kind === "status-update") status = event as StatusUpdateEvent;
        calls.push(...callsIn(event));
      }
      await nextTurn();
    }
    return { status, calls: joinCalls(calls) };
  }
}

const PAGE = 256;

const PAGE_LENGTH = 256 * 1024;

const WORTH_PARSING = /"kind":"(?:status-update|internal:sub-agent|internal:remote-task)"/;

/** The calls that an event of a log tells about: a status, or a note of the loop or of a bridge. */
function callsIn(event: AgentEvent): readonly TaskCall[] {
  if (event.kind === "status-update") {
    const { message } = (event as StatusUpdateEvent).status;
    return message === undefined ? [] : callIn(message);
  }
  const note = event as Readonly<Record<string, unknown>>;
  if (event.kind === "internal:sub-agent") {
    const { agent: name, childTaskId: taskId, childContextId: contextId } = note;
    return callIn({ metadata: { subAgent: { name, taskId, contextId } } });
  }
  if (event.kind !== "internal:remote-task") return [];
  const { remoteTaskId: taskId, remoteContextId: contextId } = note;
  return callIn({ metadata: { subAgent: { taskId, contextId } } });
}

function referencesIn(start: Task | undefined): readonly string[] {
  return start?.history?.find(({ role }) => role === "user")?.referenceTaskIds ?? [];
}

/** The tasks of an engine for the agent that runs it in its own process. */
export function calledTasks(engine: Engine): CalledTasks {
  return {
    where: "here",
    called: (agent) => engine.agents.first.definition.called?.(agent),
    read: async (taskId, { owner }) => {
      const stored = new StoredTasks(engine, (record) => record.owner === owner);
      return (await stored.find(taskId, undefined))?.facts;
    },
  };
}
