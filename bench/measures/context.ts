import { type Contender, bothVersions } from "../contenders.ts";
import { sendText } from "../client.ts";
import { costOf, median, inTurn } from "../rounds.ts";
import { type Row, short } from "../table.ts";
import { Target } from "../target.ts";
import type { Stage } from "../targets/loop.ts";

interface Options {
  /** Characters of the message that the model gets again with each turn. */
  readonly contexts: readonly number[];
  /** Tool calls of a short task and of a long one. */
  readonly calls: { readonly few: number; readonly many: number };
  readonly rounds: number;
  /** How much the loop may add to the provider's package, in milliseconds. */
  readonly limit: number;
}

const STAGES = ["provider", "loop"] as const satisfies readonly Stage[];

type Samples = Readonly<Record<(typeof STAGES)[number], number[]>>;

/**
 * CPU of one turn of a model that calls a tool, by the length of what is sent again with each turn:
 * in the loop, and with the provider's package alone.
 */
export async function context(options: Options): Promise<readonly Row[]> {
  const { contexts, limit } = options;
  const provider = await Target.start("provider.ts");
  const start = async (stage: Stage): Promise<Contender> =>
    bothVersions(await Target.start("loop.ts", { BENCH_STAGE: stage, BENCH_MODEL: provider.url }))[
      "1.0"
    ];
  const contenders = { provider: await start("provider"), loop: await start("loop") };
  const samples = new Map<number, Samples>(
    contexts.map((length) => [length, { provider: [], loop: [] }]),
  );
  try {
    await measure(contenders, samples, options);
  } finally {
    await Promise.all(Object.values(contenders).map(({ target }) => target.close()));
    await provider.close();
  }
  return Array.from(samples, ([length, { provider: without, loop: all }], place): Row => {
    const added = median(all.map((cost, round) => cost - (without[round] ?? Number.NaN)));
    return {
      work: `${place === 0 ? "a turn of a model in the loop, with" : "…"} ${length / 1000} kB of context`,
      ours: `${short(median(all))} ms`,
      ratio: `package alone ${short(median(without))} ms`,
      budget: `package + ${short(limit)} ms`,
      isMet: added <= limit,
    };
  });
}

async function measure(
  contenders: Readonly<Record<keyof Samples, Contender>>,
  samples: ReadonlyMap<number, Samples>,
  { calls, rounds }: Options,
): Promise<void> {
  for (let round = 0; round <= rounds; round++) {
    const order = inTurn(STAGES, round);
    for (const [length, taken] of samples) {
      for (const stage of order) {
        const many = await costOfTask(contenders[stage], calls.many, length);
        const few = await costOfTask(contenders[stage], calls.few, length);
        // The first round warms up. What a task costs once is in both.
        if (round > 0) taken[stage].push((many - few) / (calls.many - calls.few) / 1000);
      }
    }
  }
}

async function costOfTask(contender: Contender, calls: number, length: number): Promise<number> {
  let body = "";
  const cost = await costOf(contender, async () => {
    ({ body } = await sendText(contender, `calls ${calls} of ${length}`));
  });
  if (!body.includes("Done.")) throw new Error(`this is not the answer: ${body.slice(0, 500)}`);
  return cost.value;
}
