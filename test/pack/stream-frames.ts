import { type PublicEvent, type Task, applyEvent } from "@convoke/protocol";

/** One line of `convoke stream --json`. */
interface Frame {
  readonly id: string;
  readonly event: PublicEvent;
}

/** The complete lines; the last one may still be incomplete. */
export function framesOf(stdout: string): readonly Frame[] {
  const lines = stdout.split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Frame);
}

/** The task that the frames produce. */
export function foldOf(frames: readonly Frame[]): Task {
  const [first, ...rest] = frames;
  if (first === undefined) throw new Error("There are no frames.");
  return rest.reduce(
    (task, { event }) => applyEvent(task, event),
    applyEvent(undefined, first.event),
  );
}
