import { checkTask } from "../check.ts";
import { inFlight, send } from "../client.ts";
import { type Contender, type Field, both, peersOf } from "../contenders.ts";
import { type Figure, costOf, interleave } from "../rounds.ts";
import { type Row, overPeerRow, ratioRow, withoutPeers } from "../table.ts";

interface Options {
  readonly atOnce: number;
  readonly calls: number;
  readonly rounds: number;
  /** Absent: no budget. */
  readonly limits?: {
    /** Of the memory backend, over bare. */
    readonly memory: number;
    /** Over SDK 0.3.14 with Express. */
    readonly overPeer: number;
  };
}

/** CPU of a message that is answered with its completed task, with SQLite and with the memory backend. */
export async function blockingSend(field: Field, options: Options): Promise<readonly Row[]> {
  const { bare, ours, memory } = field;
  const { atOnce, rounds, limits } = options;
  const everyone = [...both(bare), ...both(ours), ...both(memory), ...peersOf(field)];
  const samples = await interleave(everyone, rounds, (one) => cpuOfSend(one, options));
  const unit = " µs";
  return [
    ratioRow(field, samples, { work: `blocking send, ${atOnce} in flight`, unit }),
    withoutPeers(
      ratioRow(field, samples, {
        work: "… memory backend",
        unit,
        ...(limits && { limit: limits.memory }),
        ours: "memory",
      }),
    ),
    overPeerRow(field, samples, {
      work: "… over SDK 0.3.14 in memory with Express",
      unit,
      ...(limits && { limit: limits.overPeer }),
    }),
  ];
}

/** Microseconds of CPU for one message, averaged over several. */
export async function cpuOfSend(
  contender: Contender,
  { atOnce, calls }: Pick<Options, "atOnce" | "calls">,
): Promise<Figure> {
  let answers: Awaited<ReturnType<typeof send>>[] = [];
  const cost = await costOf(contender, async () => {
    answers = await inFlight(atOnce, calls, () => send(contender, { manner: "burst", count: 1 }));
  });
  for (const answer of answers) checkTask(answer, 1);
  return { ...cost, value: cost.value / calls };
}
