/** The points at which a server kills itself. */
const CRASH_POINTS = [
  /** A step is about to be handed to the storage. */
  "before-commit",
  /** A step is durable, and no client has seen it. */
  "after-commit",
  /** What was committed is about to be sent to the caller. */
  "before-ack",
  /** The body of a step or a tool has just done its work. */
  "after-effect",
  /** The result of a step or a tool is about to be handed to the storage. */
  "before-result",
] as const;

export type CrashPoint = (typeof CRASH_POINTS)[number];

/** When a server of these tests kills itself. */
export interface CrashPlan {
  readonly at: CrashPoint;
  /** A pattern for an event of the step or for the answer; or the name of the effect. */
  readonly on: string;
}

/** The plan as environment, and back. The product knows nothing of it. */
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
