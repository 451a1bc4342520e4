import { type Answer, type TaskIds, send } from "../client.ts";
import { type Contender, type Field, both } from "../contenders.ts";
import { type Figure, interleave, medianOf } from "../rounds.ts";
import { type Row, figureRow } from "../table.ts";
import type { Manner } from "../targets/order.ts";

interface Options {
  readonly turns: number;
  /** How many turns at the start and at the end are compared. */
  readonly share: number;
  readonly rounds: number;
  readonly limit: number;
}

/**
 * CPU of a late turn of one task relative to an early one. The history is not requested, so that
 * the responses have the same size. An agent can wait in `ask`, or end its turn and be run again
 * for the next; the SDKs support only the second.
 */
export async function followUpTurns(field: Field, options: Options): Promise<readonly Row[]> {
  const { turns, rounds, limit } = options;
  const waiting = await interleave(
    [...both(field.ours), field.sdkV1, field.sdkV03],
    rounds,
    (contender) => growth(contender, "ask", options),
  );
  const anew = await interleave(both(field.ours), 1, (contender) =>
    growth(contender, "end-turn", options),
  );
  const work = `${turns} follow-up turns on one task, last ÷ first`;
  return [
    figureRow(field, (contender) => medianOf(waiting, contender), { work, unit: "", limit }),
    figureRow(field, (contender) => medianOf(anew, contender), {
      work: "… with a new run for each turn",
      unit: "",
      limit,
    }),
  ];
}

async function growth(
  contender: Contender,
  manner: Manner,
  { turns, share }: Options,
): Promise<Figure> {
  const { target, capMs } = contender;
  const deadline = performance.now() + capMs;
  const order = { manner, count: 1 };
  const task = idsOf(await send(contender, order));
  const marks = [await target.cpu()];
  let cutOff = false;
  for (let turn = 0; turn < turns && !cutOff; turn += share) {
    for (let call = 0; call < share; call++) idsOf(await send(contender, order, task));
    marks.push(await target.cpu());
    cutOff = performance.now() > deadline;
  }
  const costs = marks.slice(1).map((mark, place) => mark - (marks[place] ?? 0));
  return { value: (costs.at(-1) ?? Number.NaN) / (costs[0] ?? Number.NaN), cutOff };
}

/** The ids of a task that waits for its caller. */
function idsOf({ body }: Answer): TaskIds {
  const { result } = JSON.parse(body) as { result?: Waiting & { task?: Waiting } };
  const task = result?.task ?? result;
  if (task === undefined || !/input-required|INPUT_REQUIRED/.test(task.status.state))
    throw new Error(`this task does not wait for its caller: ${body.slice(0, 500)}`);
  return { taskId: task.id, contextId: task.contextId };
}

interface Waiting {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string };
}
