import type { NewTask } from "@convoke/engine";
import type { TaskState } from "@convoke/protocol";
import { LONGEST_RECORD } from "./commit-log.ts";
import type { SentStep, SentWrite } from "./thread-messages.ts";

/** Steps that were committed together, as the commit log has them. */
export interface LoggedSteps {
  /** When they were committed, in milliseconds since the epoch. */
  readonly at: number;
  readonly steps: readonly SentStep[];
}

/** The fields of a step without its events, which follow as lines of their own. */
type Head = readonly [
  taskId: string,
  epoch: number,
  count: number,
  state: TaskState,
  statusAt: number,
  listed: boolean,
  afterHead: number | null,
  afterEpoch: number | null,
  create: NewTask | null,
  rare: Rare | null,
];

/** What only some steps have. */
type Rare = Pick<SentStep, "message" | "perAgent" | "wakeAt" | "push">;

/**
 * The text for a record of the commit log: the time, and for each step a line of JSON and its events,
 * which are JSON already: inside of more JSON they would have to be escaped. It has no snapshots, which
 * are long and can be made again from the events.
 *
 * Returns `undefined` if the log cannot have them: if some are not steps, or if there is too much.
 */
export function toLogText(at: number, writes: readonly SentWrite[]): string | undefined {
  let text = String(at);
  for (const write of writes) {
    if (write.kind !== undefined) return undefined;
    text += `\n${JSON.stringify(headOf(write))}`;
    if (write.count > 0) text += `\n${write.body}`;
    if (text.length > LONGEST_RECORD) return undefined;
  }
  return text;
}

/** The steps in a record, without their snapshots. */
export function readLogText(text: string): LoggedSteps {
  const lines = text.split("\n");
  const steps: SentStep[] = [];
  let place = 1;
  while (place < lines.length) {
    const head = JSON.parse(lines[place]!) as Head;
    const [, , count] = head;
    steps.push(toStep(head, lines.slice(place + 1, place + 1 + count).join("\n")));
    place += 1 + count;
  }
  return { at: Number(lines[0]), steps };
}

function headOf(step: SentStep): Head {
  const { after, create, message, perAgent, wakeAt, push } = step;
  const isPlain = message === undefined && perAgent === undefined && push === undefined;
  return [
    step.taskId,
    step.epoch,
    step.count,
    step.state,
    step.statusAt,
    step.listed,
    after?.head ?? null,
    after?.epoch ?? null,
    create ?? null,
    isPlain && wakeAt === undefined ? null : rareOf({ message, perAgent, wakeAt, push }),
  ];
}

/** `null` is a value of `wakeAt`, so a field that is absent must not become one. */
function rareOf({ message, perAgent, wakeAt, push }: Record<keyof Rare, unknown>): Rare {
  return {
    ...(message !== undefined && { message }),
    ...(perAgent !== undefined && { perAgent }),
    ...(wakeAt !== undefined && { wakeAt }),
    ...(push !== undefined && { push }),
  } as Rare;
}

function toStep(head: Head, body: string): SentStep {
  const [taskId, epoch, count, state, statusAt, listed, afterHead, afterEpoch, create, rare] = head;
  return {
    taskId,
    epoch,
    count,
    body,
    state,
    statusAt,
    listed,
    ...(afterHead !== null && { after: { head: afterHead, epoch: afterEpoch! } }),
    ...(create !== null && { create }),
    ...rare,
  };
}
