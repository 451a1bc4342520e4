import { A2AError, type AgentEnvironment, type ErasureScope } from "@convoke/protocol";
import { orAborted, startTimer } from "@convoke/protocol/internal";
import { ChildRecords } from "@convoke/runtime/processes";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { LineSession } from "../lines/line-session.ts";
import { ChildProgram, type ProgramEnd } from "../program/child-program.ts";
import type { ProcessSettings } from "../program/process-options.ts";
import type { ProgramSession } from "../program/program-event.ts";
import { type SessionOwner, StoredSessions, sessionKey } from "./stored-sessions.ts";

/** Who wants to use a session. */
export interface SessionUser extends SessionOwner {
  readonly taskId: string;
  readonly signal: AbortSignal;
}

/** A session that its user has for itself until it is released. */
export interface UsedSession {
  readonly session: ProgramSession;
  /** The user waits for someone: from now on the time counts as idle. */
  rest(): void;
  /** The user works again. */
  wake(): void;
  /** Lets others use the session. */
  release(): void;
  /** Ends its process. */
  stop(): Promise<void>;
}

interface Entry {
  readonly session: ProgramSession;
  /** The task that uses it. */
  taskId: string | undefined;
  freed: PromiseWithResolvers<void>;
  stopTimer: () => void;
}

/** The processes of a program: one for each conversation that is in use, or was lately. */
export class ProgramSessions {
  readonly #settings: ProcessSettings;
  readonly #place: AgentEnvironment;
  readonly #stored: StoredSessions;
  readonly #records: ChildRecords | undefined;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>();
  /** Sessions that are being opened, so that two users do not open the same one. */
  readonly #opening = new Map<string, Promise<unknown>>();
  readonly #children = new Set<ChildProgram>();

  /** Ends what a process left behind that was killed. */
  constructor(settings: ProcessSettings, place: AgentEnvironment) {
    this.#settings = settings;
    this.#place = place;
    this.#stored = new StoredSessions(place.folder);
    const kind = { prefix: "program-child", name: "a program that is an agent" };
    const logger = { warn: (text: string, fields = {}) => place.logger?.warn(text, fields) };
    this.#records =
      place.folder === undefined ? undefined : new ChildRecords(place.folder, kind, logger);
    this.#records?.reap();
  }

  /** Waits until no other task uses the session of the conversation, and starts its process if needed. */
  async use(user: SessionUser): Promise<UsedSession> {
    const key = sessionKey(user);
    for (;;) {
      user.signal.throwIfAborted();
      const entry = this.#entries.get(key);
      const opening = this.#opening.get(key);
      if (entry?.session.child.isEnding === true) {
        await entry.session.child.ended;
        this.#forget(key, entry);
      } else if (entry?.taskId === user.taskId) {
        // An earlier run of the same task was dropped while it waited: its prompt has no reader.
        await this.#stop(key, entry);
      } else if (entry?.taskId !== undefined) {
        await orAborted(entry.freed.promise, user.signal);
      } else if (opening !== undefined) {
        await orAborted(
          opening.catch(() => undefined),
          user.signal,
        );
      } else {
        return this.#take(key, entry ?? (await this.#begin(key, user)), user.taskId);
      }
    }
  }

  /** Ends the process that works on a task, if there is one. */
  async stopTask(taskId: string): Promise<void> {
    for (const [key, entry] of this.#entries) {
      if (entry.taskId === taskId) await this.#stop(key, entry);
    }
  }

  /** Ends the processes of conversations, and forgets by which id their program can load them. */
  async erase({ owner, contextIds }: ErasureScope): Promise<void> {
    for (const contextId of contextIds) {
      const key = sessionKey({ owner, contextId });
      const entry = this.#entries.get(key);
      if (entry !== undefined) await this.#stop(key, entry);
      this.#stored.delete(key);
    }
  }

  /** Ends all processes. */
  async close(): Promise<void> {
    for (const { stopTimer } of this.#entries.values()) stopTimer();
    await Promise.all([...this.#children].map((child) => child.stop()));
  }

  #take(key: string, entry: Entry, taskId: string): UsedSession {
    entry.taskId = taskId;
    entry.stopTimer();
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const rest = (): void => {
      entry.stopTimer();
      const { idleMs } = this.#settings.limits;
      entry.stopTimer = startTimer(idleMs, () => void this.#stop(key, entry), { unref: true });
    };
    return {
      session: entry.session,
      rest,
      wake: () => entry.stopTimer(),
      release: () => {
        if (entry.taskId !== taskId) return;
        const { resumeId } = entry.session;
        if (resumeId !== undefined) this.#stored.store(key, resumeId);
        this.#free(entry);
        if (!entry.session.child.isEnding) rest();
      },
      stop: () => this.#stop(key, entry),
    };
  }

  #free(entry: Entry): void {
    entry.taskId = undefined;
    entry.freed.resolve();
    entry.freed = Promise.withResolvers();
  }

  async #begin(key: string, user: SessionUser): Promise<Entry> {
    const opening = this.#open(key, user);
    this.#opening.set(key, opening);
    try {
      return await opening;
    } finally {
      this.#opening.delete(key);
    }
  }

  async #open(key: string, { signal, taskId }: SessionUser): Promise<Entry> {
    await this.#makeRoom();
    const { settings, child } = await this.#start(key);
    const stopTimer = startTimer(settings.limits.startMs, () => {
      const text = "It did not open a session in time.";
      void child.stop({ reason: "start-failed", text });
    });
    const abort = (): void => void child.stop();
    signal.addEventListener("abort", abort, { once: true });
    try {
      const session = await this.#openSession(key, child);
      if (session.resumeId !== undefined) this.#stored.store(key, session.resumeId);
      const freed = Promise.withResolvers<void>();
      const entry: Entry = { session, taskId, freed, stopTimer: () => undefined };
      this.#entries.set(key, entry);
      void child.ended.then(() => this.#forget(key, entry));
      return entry;
    } catch (error) {
      await child.stop();
      throw new ProgramStartError(child.end, error);
    } finally {
      stopTimer();
      signal.removeEventListener("abort", abort);
    }
  }

  async #start(key: string): Promise<{ settings: ProcessSettings; child: ChildProgram }> {
    const settings = this.#settings;
    const { command, args, env, limits } = settings;
    const { memoryBytes: maxMemoryBytes, outputBytes: maxOutputBytes, graceMs } = limits;
    const child = new ChildProgram({
      command,
      args,
      env,
      cwd: await this.#folderFor(key),
      maxMemoryBytes,
      maxOutputBytes,
      graceMs,
      records: this.#records,
      print: (line) => this.#place.logger?.debug(`${command} printed: ${line}`),
    });
    this.#children.add(child);
    void child.ended.then(() => this.#children.delete(child));
    return { settings, child };
  }

  async #openSession(key: string, child: ChildProgram): Promise<ProgramSession> {
    if (this.#settings.protocol === "json-lines") {
      return new LineSession(child, (text) => this.#place.logger?.warn(text));
    }
    // Only loaded if it is needed, because it is large.
    const { AcpSession } = await import("../acp/acp-session.ts");
    const cwd = await this.#folderFor(key);
    const resumeId = this.#stored.find(key);
    return AcpSession.open(child, { settings: this.#settings, cwd, resumeId });
  }

  async #folderFor(key: string): Promise<string> {
    const { workspace, workspacePerSession } = this.#settings;
    if (!workspacePerSession) return workspace;
    const folder = join(workspace, key);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return folder;
  }

  /** Stops the process that was used least recently, if there are as many as there may be. */
  async #makeRoom(): Promise<void> {
    const { processes } = this.#settings.limits;
    if (this.#children.size < processes) return;
    const idle = [...this.#entries].find(([, { taskId }]) => taskId === undefined);
    if (idle === undefined) {
      const text = `the agent already works in ${processes} conversations; try again later`;
      throw new A2AError("Unavailable", text);
    }
    await this.#stop(...idle);
  }

  async #stop(key: string, entry: Entry): Promise<void> {
    await entry.session.child.stop();
    this.#forget(key, entry);
  }

  #forget(key: string, entry: Entry): void {
    entry.stopTimer();
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
    this.#free(entry);
  }
}

/** The program could not be started, or opened no session. */
export class ProgramStartError extends Error {
  readonly end: ProgramEnd | undefined;

  constructor(end: ProgramEnd | undefined, cause: unknown) {
    super("the program could not open a session", { cause });
    this.end = end;
  }
}
