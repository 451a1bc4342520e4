import type { Agent, AgentBeside } from "@convoke/protocol";
import { createInProcessConnection } from "./in-process.ts";
import { type Recovered, recover } from "./lifecycle/recover.ts";
import { Retention, type RetentionOptions } from "./lifecycle/retention.ts";
import { wakeTask } from "./lifecycle/wake-task.ts";
import type { Backend } from "./log/backend.ts";
import type { Logger } from "./logging/logger.ts";
import { type PushOptions, PushService } from "./push/push-service.ts";
import { Engine, type EngineOptions } from "./run/engine.ts";

/** An engine that has not taken over the tasks of an earlier process: enough for tests of single operations. */
export function createEngine(options: Omit<EngineOptions, "wake">): Engine {
  return new Engine({ ...options, wake: wakeTask });
}

export interface StartEngineOptions extends Omit<EngineOptions, "wake" | "push"> {
  /** How notifications are pushed. `false` switches push off. */
  readonly push?: PushOptions | false | undefined;
  /**
   * Whether tasks that an earlier process left unfinished resume at once. Default true. If false
   * they stay paused until `resumePausedTask`.
   */
  readonly resumeOnStart?: boolean | undefined;
  /** How long ended tasks are kept. */
  readonly retention?: Partial<RetentionOptions> | undefined;
}

/** An engine at work, with everything that runs beside it. */
export interface RunningEngine {
  readonly engine: Engine;
  /** Absent if nothing is pushed. */
  readonly push: PushService | undefined;
  /** What became of the tasks that an earlier process had left unfinished. */
  readonly recovered: Recovered;
  /**
   * Takes no new work, waits up to `drainMs` for what is under way, and closes the agent and the
   * backend. `hangUp` is called once nothing more is written and before the backend is closed.
   */
  close(options?: {
    readonly drainMs?: number | undefined;
    readonly hangUp?: () => Promise<void>;
  }): Promise<void>;
}

/**
 * Runs an agent on a backend: resumes what an earlier process left unfinished, delivers what it
 * had not pushed, and prunes what is too old. It owns the agent and the backend, and closes both.
 */
export async function startEngine(options: StartEngineOptions): Promise<RunningEngine> {
  const {
    agent,
    backend,
    logger,
    push: pushing,
    retention: keeping,
    resumeOnStart,
    ...rest
  } = options;
  let push: PushService | undefined;
  const engine = createEngine({
    ...rest,
    agent,
    backend,
    logger,
    ...(pushing !== false && { push: (own) => (push = new PushService(own, logger, pushing)) }),
  });
  try {
    const recovered = await recover(engine, { resume: resumeOnStart !== false });
    await push?.start();
    const retention = new Retention(engine, logger, keeping);
    return {
      engine,
      push,
      recovered,
      async close({ drainMs = 0, hangUp } = {}) {
        await engine.drain(drainMs);
        engine.close();
        push?.close();
        await retention.close();
        await hangUp?.();
        await closeBoth({ agent, backend, logger });
      },
    };
  } catch (error) {
    engine.close();
    push?.close();
    throw error;
  }
}

/** Closes the agent and, whatever becomes of that, the backend. */
export async function closeBoth(parts: {
  readonly agent: Agent;
  readonly backend: Backend;
  readonly logger: Logger;
}): Promise<void> {
  const { agent, backend, logger } = parts;
  try {
    await agent[Symbol.asyncDispose]?.();
  } catch (error) {
    logger.error("the agent could not be closed", { error });
  }
  await backend.close();
}

/** Runs an agent that only other agents of this process speak to. */
export async function startBeside(options: StartEngineOptions): Promise<AgentBeside> {
  const { engine, close } = await startEngine({ push: false, ...options });
  return {
    connect: (caller) => createInProcessConnection(engine, caller),
    [Symbol.asyncDispose]: () => close(),
  };
}
