import type { Agent, ErasureScope, LocalAgent } from "@convoke/protocol";
import { createInProcessConnection } from "./in-process.ts";
import type { BackoffOptions } from "@convoke/protocol/internal";
import {
  CRASH_BACKOFF,
  NOTHING_RECOVERED,
  type RecoveryReport,
  recover,
  wakeTask,
} from "./lifecycle/recover.ts";
import { Retention, type RetentionOptions } from "./lifecycle/retention.ts";
import type { Backend } from "./log/backend.ts";
import type { Logger } from "./logging/logger.ts";
import { calledTasks } from "./operations/call-tree.ts";
import { Erasures, eraseCalled } from "./operations/erasures.ts";
import { type PushOptions, PushService } from "./push/push-service.ts";
import { ServedAgent } from "./run/agents.ts";
import { Engine, type EngineOptions } from "./run/engine.ts";
import { SharedTasks } from "./sharing/shared-tasks.ts";
import { agentKey } from "./task/agent-key.ts";

/** Creates an engine that does not recover the tasks of an earlier process. Enough for tests of single operations. */
export function createEngine(options: Omit<EngineOptions, "wake">): Engine {
  return new Engine({ ...options, wake: wakeTask });
}

export interface StartEngineOptions extends Omit<EngineOptions, "wake" | "push"> {
  /** How push notifications are delivered. `false` disables them. */
  readonly push?: PushOptions | false | undefined;
  /**
   * Whether tasks that an earlier process left unfinished resume at once. Default true. If false
   * they stay paused until `resumePausedTask`.
   */
  readonly resumeOnStart?: boolean | undefined;
  /**
   * How long a task waits that has made no progress in two or more processes that crashed, and may
   * be the reason. Default: one second, then twice as long each time.
   */
  readonly crashBackoff?: BackoffOptions | undefined;
  /** When ended tasks are removed. */
  readonly retention?: Partial<RetentionOptions> | undefined;
  /** Erases what is stored elsewhere than in the backend and by the agents. Default: there is nothing. */
  readonly erase?: ((scope: ErasureScope) => Promise<void>) | undefined;
}

/** A running engine with its push deliveries and retention. */
export interface RunningEngine {
  readonly engine: Engine;
  /** Absent if push notifications are disabled. */
  readonly push: PushService | undefined;
  /** What happened to the unfinished tasks of an earlier process. */
  readonly recovered: RecoveryReport;
  readonly erasures: Erasures;
  /**
   * Rejects new work, waits up to `drainMs` for running tasks (default 0), and closes the agents and
   * the backend. `beforeClose` is called after the last write and before the backend closes.
   */
  readonly close: (options?: {
    readonly drainMs?: number | undefined;
    readonly beforeClose?: () => Promise<void>;
  }) => Promise<void>;
}

/**
 * Runs agents on a backend: resumes the unfinished tasks of an earlier process, delivers pending
 * notifications and removes old tasks. It owns the agents and the backend, and closes them.
 */
export async function startEngine(options: StartEngineOptions): Promise<RunningEngine> {
  const {
    backend,
    logger,
    push: pushOptions,
    retention: retentionOptions,
    resumeOnStart,
    crashBackoff = CRASH_BACKOFF,
    erase,
    ...rest
  } = options;
  let push: PushService | undefined;
  let shared: SharedTasks | undefined;
  const engine = createEngine({
    ...rest,
    backend,
    logger,
    sharing: (own, sharing) => (shared = new SharedTasks(own, sharing, crashBackoff)),
    ...(pushOptions !== false && {
      push: (own) => (push = new PushService(own, logger, pushOptions)),
    }),
  });
  const erasures = new Erasures(engine, erase);
  try {
    const start = performance.now();
    const recovered =
      shared === undefined
        ? await recover(engine, { resume: resumeOnStart !== false, crashBackoff })
        : NOTHING_RECOVERED;
    shared?.start();
    const recoverySeconds = (performance.now() - start) / 1000;
    const stop = engine.metrics.collect((add) => {
      add("recoverySeconds", recoverySeconds);
      for (const outcome of ["resumed", "ended", "waiting"] as const) {
        add("recoveredTasks", recovered[outcome], [outcome]);
      }
    });
    engine.closing.addEventListener("abort", stop, { once: true });
    await push?.start();
    void erasures.resume();
    const retention = new Retention(engine, logger, retentionOptions, () => erasures.resume());
    const started = { engine, shared, push, retention, erasures };
    return {
      engine,
      push,
      recovered,
      erasures,
      async close({ drainMs = 0, beforeClose } = {}) {
        await stopEngine(started, drainMs);
        await beforeClose?.();
        for (const agent of engine.agents) await agent.dispose();
        await backend.close();
      },
    };
  } catch (error) {
    // The storage may be the reason why it did not start, so that it cannot be stopped properly, either.
    await stopEngine({ engine, shared, push, erasures }, 0).catch((problem: unknown) => {
      logger.warn("an engine that did not start could not be stopped", { error: problem });
    });
    throw error;
  }
}

interface StartedParts {
  readonly engine: Engine;
  readonly shared: SharedTasks | undefined;
  readonly push: PushService | undefined;
  readonly retention?: Retention;
  readonly erasures: Erasures;
}

/** Stops what has started. Nothing is written afterwards. */
async function stopEngine(parts: StartedParts, drainMs: number): Promise<void> {
  const { engine, shared, push, retention, erasures } = parts;
  // Nothing begins from here on.
  const drained = engine.drain(drainMs);
  await shared?.stop();
  await drained;
  const running = engine.tasks.running();
  engine.close();
  try {
    await shared?.releaseAll(running);
  } finally {
    push?.close();
    await retention?.close();
    await erasures.close();
  }
}

/** Closes the agents and then the backend of an engine that did not start. */
export async function closeAgentsAndBackend(parts: {
  readonly agents: readonly Agent[];
  readonly backend: Backend;
  readonly logger: Logger;
}): Promise<void> {
  const { agents, backend, logger } = parts;
  for (const agent of agents) await new ServedAgent(agent, agentKey(agent), logger).dispose();
  await backend.close();
}

/** Runs an agent that is reached only by other agents of the same process. */
export async function startLocalAgent(options: StartEngineOptions): Promise<LocalAgent> {
  const { engine, close } = await startEngine({ push: false, ...options });
  return {
    connect: (caller) => createInProcessConnection(engine, caller),
    tasks: calledTasks(engine),
    erase: (scope) => eraseCalled(engine, scope),
    drain: (withinMs) => engine.drain(withinMs),
    [Symbol.asyncDispose]: () => close(),
  };
}
