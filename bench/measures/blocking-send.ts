import { checkTask } from "../check.ts";
import { inFlight, send } from "../client.ts";
import { type Field, both, peersOf } from "../contenders.ts";
import { type Figure, costOf, interleave, mapSamples } from "../rounds.ts";
import { type Row, overPeerRow, ratioRow, withoutPeers } from "../table.ts";

interface Options {
  readonly atOnce: number;
  readonly calls: number;
  readonly rounds: number;
  readonly limits: {
    readonly all: number;
    readonly main: number;
    readonly memory: number;
    readonly overPeer: number;
  };
}

/**
 * CPU of a message that is answered with its completed task: of all threads, of the event loop
 * thread only, and with the memory store.
 */
export async function blockingSend(field: Field, options: Options): Promise<readonly Row[]> {
  const { bare, ours, memory } = field;
  const { atOnce, calls, rounds, limits } = options;
  const everyone = [...both(bare), ...both(ours), ...both(memory), ...peersOf(field)];
  const costs = await interleave(everyone, rounds, async (contender) => {
    let answers: Awaited<ReturnType<typeof send>>[] = [];
    const cost = await costOf(contender, async () => {
      answers = await inFlight(atOnce, calls, () => send(contender, { manner: "burst", count: 1 }));
    });
    for (const answer of answers) checkTask(answer, 1);
    return cost;
  });
  const each = ({ value, cutOff }: Figure): Figure => ({ value: value / calls, cutOff });
  const all = mapSamples(costs, ({ total }) => each(total));
  const main = new Map(all);
  for (const contender of both(ours)) {
    main.set(
      contender,
      (costs.get(contender) ?? []).map((cost) => each(cost.main)),
    );
  }
  const work = `blocking send, ${atOnce} in flight`;
  return [
    ratioRow(field, all, { work, unit: " µs", limit: limits.all }),
    withoutPeers(
      ratioRow(field, main, { work: `… main thread alone`, unit: " µs", limit: limits.main }),
    ),
    withoutPeers(
      ratioRow(field, all, {
        work: "… memory backend",
        unit: " µs",
        limit: limits.memory,
        ours: "memory",
      }),
    ),
    overPeerRow(field, all, {
      work: "… over SDK 0.3.14 in memory with Express",
      unit: " µs",
      limit: limits.overPeer,
    }),
  ];
}
