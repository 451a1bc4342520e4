import { join } from "node:path";
import { type Contender, type Field, both, bothVersions } from "../contenders.ts";
import { type Figure, interleave, medianOf, ratioOf } from "../rounds.ts";
import { type Row, pair, ratioRow, withoutPeers } from "../table.ts";
import { Target } from "../target.ts";
import { cpuOfSend } from "./blocking-send.ts";

interface Options {
  readonly atOnce: number;
  readonly calls: number;
  readonly rounds: number;
  readonly warmUps: number;
  readonly data: string;
  /** Of the memory backend, over bare. Absent: no budget. */
  readonly limits?: { readonly memory: number };
}

/**
 * CPU of a message to an agent without side effects, whose task is stored in one step: relative to
 * bare, and to the same agent without that declaration.
 */
export async function sendsWithoutEffects(
  field: Field,
  { atOnce, calls, rounds, warmUps, data, limits }: Options,
): Promise<readonly Row[]> {
  const start = (env: NodeJS.ProcessEnv): Promise<Target> =>
    Target.start("convoke.ts", { BENCH_SIDE_EFFECTS: "none", ...env });
  const stored = await start({ BENCH_DATA: join(data, `without-effects-${atOnce}`) });
  const memory = await start({});
  const free = { ...field, ours: bothVersions(stored), memory: bothVersions(memory) };
  const cost = (contender: Contender): Promise<Figure> => cpuOfSend(contender, { atOnce, calls });
  try {
    const fresh = [...both(free.ours), ...both(free.memory)];
    await interleave(fresh, warmUps, cost);
    const others = [...both(field.bare), ...both(field.ours), ...both(field.memory)];
    const samples = await interleave([...others, ...fresh], rounds, cost);
    const over = (ours: "ours" | "memory"): Row => ({
      work: `… over one with side effects`,
      ours: pair(
        both(free[ours]).map((each) => medianOf(samples, each)),
        " µs",
      ),
      ratio: pair(
        both(free[ours]).map((each) => ratioOf(samples, each, field[ours][each.version])),
        "×",
      ),
    });
    const work = `blocking send without side effects, ${atOnce} in flight`;
    return [
      withoutPeers(ratioRow(free, samples, { work, unit: " µs" })),
      over("ours"),
      withoutPeers(
        ratioRow(free, samples, {
          work: "… memory backend",
          unit: " µs",
          ...(limits && { limit: limits.memory }),
          ours: "memory",
        }),
      ),
      over("memory"),
    ];
  } finally {
    await Promise.all([stored.close(), memory.close()]);
  }
}
