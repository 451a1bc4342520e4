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
  /** The official SDKs on bare `node:http`, which is cheaper than what their users run. */
  readonly sdkV1: Contender;
  readonly sdkV03: Contender;
  /** The official SDKs behind their own Express adapter, as their users run them. Clients have none. */
  readonly express?: BothVersions;
  /** SDK 1.3.0 with Express and its SQL store in a SQLite file with synchronous=FULL. 0.3.14 has none. */
  readonly sqlV1?: Contender;
}

/** Starts all targets, with our data in the folder. */
export async function startField(data: string, sdkCapMs: number): Promise<Field> {
  const bare = await Target.start("bare.ts");
  const ours = await Target.start("convoke.ts", { BENCH_DATA: data });
  const memory = await Target.start("convoke.ts");
  const sdkV1 = await Target.start("sdk-v1.ts");
  const sdkV03 = await Target.start("sdk-v03.ts");
  const expressV1 = await Target.start("sdk-v1.ts", { BENCH_EXPRESS: "1" });
  const expressV03 = await Target.start("sdk-v03.ts", { BENCH_EXPRESS: "1" });
  const sqlV1 = await Target.start("sdk-v1.ts", {
    BENCH_EXPRESS: "1",
    BENCH_SQL_FILE: `${data}-sdk.db`,
  });
  const slow = { maxRounds: 1, capMs: sdkCapMs };
  return {
    bare: bothVersions(bare),
    ours: bothVersions(ours),
    memory: bothVersions(memory),
    sdkV1: { target: sdkV1, version: "1.0", ...slow },
    sdkV03: unhurried(sdkV03, "0.3"),
    express: {
      "0.3": unhurried(expressV03, "0.3"),
      "1.0": { target: expressV1, version: "1.0", ...slow },
    },
    sqlV1: { target: sqlV1, version: "1.0", ...slow },
  };
}

export async function closeField(field: Field): Promise<void> {
  const { bare, ours, memory } = field;
  const all = [bare["0.3"], ours["0.3"], memory["0.3"], ...peersOf(field)];
  await Promise.all(all.map(({ target }) => target.close()));
}

/** The official SDKs in all forms. */
export function peersOf({ sdkV1, sdkV03, express, sqlV1 }: Field): readonly Contender[] {
  return [sdkV1, sdkV03, ...(express ? both(express) : []), ...(sqlV1 ? [sqlV1] : [])];
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
