import type { WireVersion } from "./client.ts";
import { Target } from "./target.ts";

/** A target in one wire version. */
export interface Contender {
  readonly target: Target;
  readonly version: WireVersion;
  /** The bearer token of its requests. None if absent. */
  readonly token?: string;
  /** A contender whose samples take long is sampled less often than the others. */
  readonly maxRounds: number;
  /** A sample that takes longer is cut off, and counts as at least the time it took. */
  readonly capMs: number;
}

export type BothVersions = Readonly<Record<WireVersion, Contender>>;

/** All contenders. */
export interface Field {
  readonly bare: BothVersions;
  /** Ours, in SQLite with synchronous=FULL. */
  readonly ours: BothVersions;
  readonly memory: BothVersions;
  readonly sdkV1: Contender;
  readonly sdkV03: Contender;
}

/** Starts all targets, with our data in the folder. */
export async function startField(data: string, sdkCapMs: number): Promise<Field> {
  const bare = await Target.start("bare.ts");
  const ours = await Target.start("convoke.ts", { BENCH_DATA: data });
  const memory = await Target.start("convoke.ts");
  const sdkV1 = await Target.start("sdk-v1.ts");
  const sdkV03 = await Target.start("sdk-v03.ts");
  return {
    bare: bothVersions(bare),
    ours: bothVersions(ours),
    memory: bothVersions(memory),
    sdkV1: { target: sdkV1, version: "1.0", maxRounds: 1, capMs: sdkCapMs },
    sdkV03: unhurried(sdkV03, "0.3"),
  };
}

export async function closeField({ bare, ours, memory, sdkV1, sdkV03 }: Field): Promise<void> {
  const all = [bare["0.3"], ours["0.3"], memory["0.3"], sdkV1, sdkV03];
  await Promise.all(all.map(({ target }) => target.close()));
}

export function bothVersions(target: Target): BothVersions {
  return { "0.3": unhurried(target, "0.3"), "1.0": unhurried(target, "1.0") };
}

export function both({ "0.3": old, "1.0": current }: BothVersions): readonly Contender[] {
  return [old, current];
}

/** Only a broken target takes a minute. */
function unhurried(target: Target, version: WireVersion): Contender {
  return { target, version, maxRounds: Number.POSITIVE_INFINITY, capMs: 60_000 };
}
