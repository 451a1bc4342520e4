import { join } from "node:path";
import { type Answer, inFlight, stream } from "../client.ts";
import { type Contender, bothVersions } from "../contenders.ts";
import { costOf, median, inTurn } from "../rounds.ts";
import { type Row, short } from "../table.ts";
import { Target } from "../target.ts";
import type { Stage } from "../targets/loop.ts";
import { tokenText } from "../targets/order.ts";

interface Options {
  /** Tokens of one answer. */
  readonly tokens: number;
  /** Answers per sample, one after the other. */
  readonly answers: number;
  readonly rounds: number;
  readonly data: string;
  /** Microseconds per token. */
  readonly limits: { readonly loop: number; readonly server: number };
}

const STAGES: readonly Stage[] = ["provider", "loop", "server"];

/**
 * CPU of a streamed model token on its way to the reader: each stage does what the previous one
 * does, and more.
 */
export async function loop(options: Options): Promise<readonly Row[]> {
  const { rounds, data, limits } = options;
  const provider = await Target.start("token-provider.ts");
  const started = STAGES.map(async (stage) => {
    const env = { BENCH_STAGE: stage, BENCH_MODEL: provider.url, BENCH_DATA: join(data, "loop") };
    return [stage, bothVersions(await Target.start("loop.ts", env))["1.0"]] as const;
  });
  const contenders = new Map(await Promise.all(started));
  const samples: Record<Stage, number[]> = { provider: [], loop: [], server: [] };
  try {
    for (let round = 0; round <= rounds; round++) {
      for (const stage of inTurn(STAGES, round)) {
        const cost = await costOfToken(contenders.get(stage)!, options);
        // The first round warms up.
        if (round > 0) samples[stage].push(cost);
      }
    }
  } finally {
    await Promise.all([...contenders.values()].map(({ target }) => target.close()));
    await provider.close();
  }
  const added = (more: Stage, less: Stage): number =>
    median(samples[more].map((cost, round) => cost - (samples[less][round] ?? Number.NaN)));
  const row = (work: string, own: number, whole: Stage, limit: number): Row => ({
    work,
    ours: `${short(own)} µs`,
    ratio: `of ${short(median(samples[whole]))} µs in all`,
    budget: `${limit} µs`,
    isMet: own <= limit,
  });
  return [
    row(
      `a model's token: the loop, beside the provider's package`,
      added("loop", "provider"),
      "loop",
      limits.loop,
    ),
    row("… the server with SQLite and SSE", added("server", "loop"), "server", limits.server),
  ];
}

async function costOfToken(
  contender: Contender,
  { tokens, answers: total }: Pick<Options, "tokens" | "answers">,
): Promise<number> {
  let answers: Answer[] = [];
  const cost = await costOf(contender, async () => {
    answers = await inFlight(1, total, () => stream(contender, { manner: "burst", count: tokens }));
  });
  for (const answer of answers) check(answer, tokens);
  return cost.value / total / tokens;
}

/** Every token is present, once and in order: as one text, or as the texts of the events. */
function check({ body }: Answer, tokens: number): void {
  const texts = Array.from(body.matchAll(/"text":"((?:t\d+ )+)"/g), ([, text]) => text);
  const expected = Array.from({ length: tokens }, (_, place) => tokenText(place));
  if (texts.join("") === expected.join("")) return;
  throw new Error(`this is not the answer of ${tokens} tokens: ${body.slice(0, 500)}`);
}
