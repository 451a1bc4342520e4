import { ServerResponse } from "node:http";
import type { Backend, CommitStep } from "@convoke/engine";

/** The points at which a server kills itself. */
const CRASH_POINTS = [
  /** A step is about to be passed to the storage. */
  "before-commit",
  /** A step is durable, and no client has seen it. */
  "after-commit",
  /** Committed data is about to be sent to the caller. */
  "before-ack",
  /** The body of a step or a tool has just finished. */
  "after-effect",
  /** The result of a step or a tool is about to be passed to the storage. */
  "before-result",
] as const;

export type CrashPoint = (typeof CRASH_POINTS)[number];

/** When a server of these tests kills itself. */
export interface CrashPlan {
  readonly at: CrashPoint;
  /** A pattern for an event of the step or for the response; or the name of the effect. */
  readonly on: string;
}

/** Converts the plan to environment variables and back. The product does not know about it. */
export function crashEnvironment({ at, on }: CrashPlan): Readonly<Record<string, string>> {
  return { CONVOKE_CRASH_AT: at, CONVOKE_CRASH_ON: on };
}

export function readCrashPlan(env: NodeJS.ProcessEnv): CrashPlan | undefined {
  const at = CRASH_POINTS.find((point) => point === env["CONVOKE_CRASH_AT"]);
  return at && { at, on: env["CONVOKE_CRASH_ON"] ?? "" };
}

/** Ends this process as `kill -9` does: nothing after the call runs. */
export function crash(): void {
  process.kill(process.pid, "SIGKILL");
}

/** Kills this process when a matching response, or a chunk of a stream, is about to be written. */
export function crashBeforeAnswer(pattern: string): void {
  const prototype = ServerResponse.prototype as unknown as Record<"write" | "end", Write>;
  for (const method of ["write", "end"] as const) {
    const write = prototype[method];
    prototype[method] = function (this: ServerResponse, ...parameters: unknown[]): unknown {
      if (new RegExp(pattern).test(String(parameters[0]))) crash();
      return write.apply(this, parameters);
    };
  }
}

type Write = (this: ServerResponse, ...parameters: unknown[]) => unknown;

/** A backend that kills its process before or after one of its commits. */
export function crashingBackend(backend: Backend, plan: CrashPlan): Backend {
  return {
    tasks: backend.tasks,
    pushes: backend.pushes,
    retention: backend.retention,
    ...(backend.blobs && { blobs: backend.blobs }),
    read: (taskId, after, limit) => backend.read(taskId, after, limit),
    watch: (taskId, wake) => backend.watch(taskId, wake),
    close: () => backend.close(),
    commit: async (step) => {
      if (diesBefore(plan, step)) crash();
      const committed = await backend.commit(step);
      if (plan.at === "after-commit" && holds(step, plan.on)) crash();
      return committed;
    },
  };
}

function diesBefore({ at, on }: CrashPlan, step: CommitStep): boolean {
  if (at === "before-commit") return holds(step, on);
  return at === "before-result" && step.events.some((json) => isResultOf(json, on));
}

function holds({ events }: CommitStep, pattern: string): boolean {
  return events.some((json) => new RegExp(pattern).test(json));
}

/** Of a step of a function, or of a tool. */
function isResultOf(json: string, name: string): boolean {
  const isStep = json.includes('"kind":"internal:step-end"') && json.includes(`"name":"${name}"`);
  const isTool = json.includes('"kind":"internal:tool-complete"');
  return isStep || (isTool && json.includes(`"toolName":"${name}"`));
}
