import { orAborted } from "@convoke/protocol/internal";
import type { RemoteAgent } from "@convoke/client";
import type {
  Agent,
  AgentEnvironment,
  CalledTasks,
  ErasureScope,
  LocalAgent,
} from "@convoke/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import type { SubAgentSettings } from "./sub-agent-settings.ts";
import { withoutAddresses } from "./remote-error.ts";

/** The status of a sub-agent, for display. */
export interface SubAgentReport {
  readonly name: string;
  readonly status: "connected" | "unreachable" | "not connected";
  readonly error?: string;
}

export interface ReachOptions {
  /** The owner on whose behalf requests are sent. */
  readonly owner: string;
  readonly signal: AbortSignal;
  /** How long to retry. */
  readonly retryForMs: number;
}

/** After a failed connection, how long `look` waits before it tries again. */
const REST_MS = 10_000;
const FIRST_WAIT_MS = 100;
const MOST_WAIT_MS = 5000;
/** Maximum number of connections, one per owner; the least recently used is closed first. */
const MAX_OWNERS = 256;

/** The connection to a sub-agent. It is opened on first use and then kept. */
export class SubAgentLink {
  readonly settings: SubAgentSettings;
  /** Keyed by owner for agents of this process; all others share the key "". */
  readonly #remotes = new Map<string, Promise<RemoteAgent>>();
  /** The agent of this process, while it starts or runs. */
  #beside: Promise<LocalAgent> | undefined;
  #runBeside: NonNullable<AgentEnvironment["runBeside"]> = runInMemory;
  #starting = new AbortController();
  #known: RemoteAgent | undefined;
  #logger: AgentEnvironment["logger"];
  #failed: { readonly why: string; readonly at: number } | undefined;

  constructor(settings: SubAgentSettings) {
    this.settings = settings;
    const { target } = settings;
    if (target.kind === "remote") this.#known = target.remote;
  }

  get name(): string {
    return this.settings.name;
  }

  /** A local sub-agent is started at once, so that its unfinished tasks resume. */
  prepare({ runBeside = runInMemory, logger }: AgentEnvironment): void {
    this.#logger = logger;
    this.#runBeside = runBeside;
    this.#starting = new AbortController();
    const { target } = this.settings;
    if (target.kind === "local") void this.#keepStarting(target.agent, this.#starting.signal);
  }

  /** Returns the connected agent, retrying with backoff for up to `retryForMs`. */
  async reach({ owner, signal, retryForMs }: ReachOptions): Promise<RemoteAgent> {
    const until = Date.now() + retryForMs;
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MOST_WAIT_MS)) {
      try {
        return await orAborted(this.#remote(owner), signal);
      } catch (error) {
        signal.throwIfAborted();
        const leftMs = until - Date.now();
        if (leftMs <= 0) throw error;
        await orAborted(sleep(Math.min(waitMs, leftMs), undefined, { ref: false }), signal);
      }
    }
  }

  /** Fetches the agent's card, unless it is known or a recent attempt failed. Never rejects. */
  async look(owner: string, waitMs: number): Promise<void> {
    if (this.#known !== undefined || this.settings.target.kind === "local") return;
    if (this.#failed !== undefined && Date.now() - this.#failed.at < REST_MS) return;
    const looked = this.#remote(owner).then(
      () => undefined,
      () => undefined,
    );
    const timer = new AbortController();
    const late = sleep(waitMs, undefined, { signal: timer.signal }).catch(() => undefined);
    await Promise.race([looked, late]);
    timer.abort();
  }

  /**
   * The agent's info, from its card or from the local agent; undefined before the first connection.
   */
  get info(): Agent["info"] | undefined {
    const { target } = this.settings;
    return target.kind === "local" ? target.agent.info : this.#known?.info;
  }

  /** The tasks of the agent, for call trees. */
  get tasks(): CalledTasks {
    const { target } = this.settings;
    if (target.kind === "local") {
      const { agent } = target;
      return {
        where: "here",
        called: (name) => agent.called?.(name),
        read: async (...given) => (await this.#start(agent)).tasks.read(...given),
      };
    }
    return {
      where: "remote",
      address: target.kind === "url" ? target.url : target.remote.url,
      read: async (taskId, { owner, signal }) => {
        const remote = await this.reach({ owner, signal, retryForMs: 0 });
        return remote.called().read(taskId, { owner, signal });
      },
    };
  }

  /** Erases the tasks of a local sub-agent. */
  async erase(scope: ErasureScope): Promise<void> {
    const { target } = this.settings;
    if (target.kind === "local") await (await this.#start(target.agent)).erase(scope);
  }

  report(): SubAgentReport {
    const { name } = this;
    const isKnown = this.info !== undefined;
    const failed = isKnown ? undefined : this.#failed;
    const status = isKnown ? "connected" : failed === undefined ? "not connected" : "unreachable";
    return {
      name,
      status,
      ...(failed && { error: failed.why }),
    };
  }

  /** Drains the agent of this process. One that does not run has nothing to end. */
  async drain(withinMs: number): Promise<void> {
    const running = await this.#beside?.catch(() => undefined);
    await running?.drain(withinMs);
  }

  /** Closes all connections. The link can be used again afterwards. */
  async close(): Promise<void> {
    const remotes = [...this.#remotes.values()];
    this.#remotes.clear();
    this.#starting.abort();
    const beside = this.#beside;
    this.#beside = undefined;
    this.#runBeside = runInMemory;
    this.#failed = undefined;
    if (this.settings.target.kind !== "remote") this.#known = undefined;
    const closed = remotes.map(async (remote) => (await remote).close());
    await Promise.allSettled(closed);
    await beside?.then(
      (running) => running[Symbol.asyncDispose](),
      () => undefined,
    );
  }

  #remote(owner: string): Promise<RemoteAgent> {
    const { target } = this.settings;
    if (target.kind === "remote") return Promise.resolve(target.remote);
    const key = target.kind === "local" ? owner : "";
    const known = this.#remotes.get(key);
    if (known !== undefined) {
      this.#remotes.delete(key);
      this.#remotes.set(key, known);
      return known;
    }
    const remote = this.#connect(owner);
    this.#remotes.set(key, remote);
    this.#makeRoom();
    remote.then(
      (connected) => {
        this.#known = connected;
        this.#failed = undefined;
      },
      (error: unknown) => {
        if (this.#remotes.get(key) === remote) this.#remotes.delete(key);
        const why = error instanceof Error ? error.message : String(error);
        // The call that needs it is logged once, when it is given up.
        this.#logger?.debug("a sub-agent cannot be reached", { agent: this.name, error });
        const shown = withoutAddresses(why, this.name).slice(0, 500);
        this.#failed = { why: shown, at: Date.now() };
      },
    );
    return remote;
  }

  async #connect(owner: string): Promise<RemoteAgent> {
    const { target } = this.settings;
    if (target.kind === "remote") return target.remote;
    // Loaded on demand, so that an agent without sub-agents starts without the client.
    if (target.kind === "url") {
      const { connect } = await import("@convoke/client");
      return connect(target.url, target.options);
    }
    const { RemoteAgent } = await import("@convoke/client/connection");
    const running = await this.#start(target.agent).catch((cause: unknown) => {
      // The reason is for the operator: `#keepStarting` logs it.
      throw new Error("it cannot be started now", { cause });
    });
    return new RemoteAgent(running.connect({ owner }));
  }

  /** Retries until the agent runs: its storage may not be available yet. Never rejects. */
  async #keepStarting(agent: Agent, signal: AbortSignal): Promise<void> {
    for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(waitMs * 2, MOST_WAIT_MS)) {
      try {
        await this.#start(agent);
        return;
      } catch (error) {
        const facts = { agent: this.name, error };
        if (waitMs === FIRST_WAIT_MS)
          this.#logger?.warn("a sub-agent cannot be started yet", facts);
        await sleep(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  }

  /** Starts the agent, unless it runs. After a failure the next call tries again. */
  #start(agent: Agent): Promise<LocalAgent> {
    if (this.#beside !== undefined) return this.#beside;
    const started = this.#runBeside(this.name, agent);
    this.#beside = started;
    started.catch(() => {
      if (this.#beside === started) this.#beside = undefined;
    });
    return started;
  }

  #makeRoom(): void {
    const [oldest] = this.#remotes;
    if (oldest === undefined || this.#remotes.size <= MAX_OWNERS) return;
    this.#remotes.delete(oldest[0]);
    oldest[1].then(
      (remote) => remote.close(),
      () => undefined,
    );
  }
}

/**
 * The default if the environment has no `runBeside`: the sub-agent's tasks are lost when the
 * process ends.
 */
async function runInMemory(_name: string, agent: Agent): Promise<LocalAgent> {
  const { MEMORY_RETENTION, createJsonLogger, startLocalAgent } = await import("@convoke/engine");
  const { createMemoryBackend } = await import("@convoke/engine/memory");
  const logger = createJsonLogger("warn", (line) => process.stderr.write(line));
  const backend = createMemoryBackend();
  return startLocalAgent({ agent, backend, logger, retention: MEMORY_RETENTION });
}
