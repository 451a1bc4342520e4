import { join } from "node:path";
import { SignJWT } from "jose";
import { checkTask } from "../check.ts";
import { inFlight, send } from "../client.ts";
import { type Contender, bothVersions } from "../contenders.ts";
import { costOf, interleave, medianOf, ratioOf } from "../rounds.ts";
import { type Row, short } from "../table.ts";
import { Target } from "../target.ts";
import { GUARD, guardSecret } from "../targets/guard.ts";

interface Options {
  readonly calls: number;
  readonly rounds: number;
  readonly data: string;
  readonly limit: number;
}

const AT_ONCE = 32;

/**
 * The cost of a guarded server relative to an open one: with a token that it has verified before,
 * rate limits and metrics, and with none of them.
 */
export async function guard({ calls, rounds, data, limit }: Options): Promise<readonly Row[]> {
  const start = (name: string): Promise<Target> =>
    Target.start("convoke.ts", { BENCH_GUARD: name, BENCH_DATA: join(data, `guard-${name}`) });
  const targets = [await start("off"), await start("on")];
  const [open, plain] = targets.map((target) => bothVersions(target)["1.0"]) as [
    Contender,
    Contender,
  ];
  const guarded = { ...plain, token: await token() };
  const cost = async (contender: Contender) => {
    const cost = await costOf(contender, async () => {
      const order = { manner: "burst", count: 1 } as const;
      const answers = await inFlight(AT_ONCE, calls, () => send(contender, order));
      for (const answer of answers) checkTask(answer, 1);
    });
    return { ...cost, value: cost.value / calls };
  };
  try {
    // Warms up, and lets the server verify the token.
    for (const contender of [open, guarded, open, guarded]) await cost(contender);
    const samples = await interleave([open, guarded], rounds, cost);
    const { value } = ratioOf(samples, guarded, open);
    const [full, bare] = [guarded, open].map((each) => medianOf(samples, each).value);
    return [
      {
        work: "blocking send with token, limits and metrics, over none of them",
        ours: `${short(full!)} / ${short(bare!)} µs`,
        ratio: short(value),
        budget: String(limit),
        isMet: value <= limit,
      },
    ];
  } finally {
    await Promise.all(targets.map((target) => target.close()));
  }
}

function token(): Promise<string> {
  return new SignJWT({ scope: "read write" })
    .setProtectedHeader({ alg: "HS256" })
    .setIssuer(GUARD.issuer)
    .setAudience(GUARD.audience)
    .setSubject("bench")
    .setExpirationTime("2h")
    .sign(guardSecret());
}
