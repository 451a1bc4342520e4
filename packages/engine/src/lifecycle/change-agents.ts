import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, ServerStopping } from "@convoke/protocol";
import type { Engine } from "../run/engine.ts";
import type { LiveTask } from "../run/live-task.ts";
import { agentKey } from "../task/agent-key.ts";
import { NOTHING_RECOVERED, type RecoveryReport, recover } from "./recover.ts";

/**
 * Adds an agent to a running engine of several. Unfinished tasks that the store has of it are
 * recovered as at a start; in a shared storage, those that nobody works on are claimed.
 */
export async function addAgent(engine: Engine, agent: Agent): Promise<RecoveryReport> {
  requireSeveral(engine);
  const added = engine.agents.add(agent);
  return engine.sharing === undefined ? recover(engine, { agent: added }) : NOTHING_RECOVERED;
}

/** The storage of a single agent is opened for that agent. */
function requireSeveral({ agents }: Engine): void {
  if (agents.areSeveral) return;
  throw new TypeError(
    "this server was started with a single agent, which cannot be changed; start it with a list, as in serve([agent])",
  );
}

/** Replaces the agent with the same id. New turns use the new definition, running ones the old one. */
export function replaceAgent(engine: Engine, agent: Agent): void {
  requireSeveral(engine);
  const { id } = agentKey(agent);
  const served = engine.agents.get(id);
  if (served === undefined)
    throw new RangeError(`there is no agent ${JSON.stringify(id)} to replace`);
  served.replace(agent);
}

/**
 * Stops serving an agent. Its tasks stay stored: unfinished ones are left as they are, as tasks of
 * any agent that is not served, until the agent is added again. In a shared storage, other processes
 * that serve the agent continue them. Resolves when nothing of it runs any more and its resources are
 * released.
 */
export async function removeAgent(engine: Engine, id: string): Promise<void> {
  const agent = engine.agents.get(id);
  if (agent === undefined) return;
  engine.agents.delete(agent);
  const own = Array.from(engine.tasks.values()).filter((live) => live.agent === agent);
  const running = own.map(({ writer }) => writer).filter(({ isRunning }) => isRunning);
  await Promise.all(own.map((live) => stopTask(engine, live)));
  for (const writer of running) writer.lost();
  await engine.backend.sharing?.release(running.map(({ taskId }) => taskId));
  await agent.dispose();
}

/** How long an agent that is removed may take to stop before its resources are released. */
const STOP_MS = 500;

/** Aborts the run of a task without ending the task, and closes it once everything said before is stored. */
async function stopTask(engine: Engine, live: LiveTask): Promise<void> {
  const { writer, run } = live;
  engine.tasks.hold(live);
  try {
    writer.fence();
    live.detachRun();
    run?.abort(new ServerStopping());
    await writer.settled;
    if (run !== undefined && !run.isParked) {
      await Promise.race([run.ended, sleep(STOP_MS, undefined, { ref: false })]);
    }
  } finally {
    engine.tasks.release(live);
  }
}
