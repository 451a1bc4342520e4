import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { inFlight, openStream, stream } from "../client.ts";
import { type Contender, bothVersions } from "../contenders.ts";
import { type Row, short } from "../table.ts";
import { Target } from "../target.ts";
import type { Order } from "../targets/order.ts";

interface Options {
  readonly streams: number;
  readonly data: string;
  /** How much more memory a stream may take than with bare `node:http`, in kB. */
  readonly limit: number;
}

const IDLE: Order = { manner: "burst", count: 0, gated: true };

/**
 * V8 enlarges the part of the heap for new objects while streams are opened, up to 64 MB twice on a
 * machine with much memory, and keeps it. With this limit it does not.
 */
const LIMITED = "--max-semi-space-size=32";

/** Memory of an idle stream, in processes that have done nothing else: as Node starts them, and with a limit. */
export async function idleStreams({ streams, data, limit }: Options): Promise<readonly Row[]> {
  const count = Math.min(streams, descriptors() - 500);
  const cut = count < streams ? " (no more descriptors)" : "";
  const rows: Row[] = [];
  for (const flags of ["", LIMITED]) {
    const measure = measureWith(flags, count, data);
    const bare = await measure("bare.ts", "0.3");
    const ours = [await measure("convoke.ts", "0.3"), await measure("convoke.ts", "1.0")];
    const sdkV1 = await measure("sdk-v1.ts", "1.0");
    const sdkV03 = await measure("sdk-v03.ts", "0.3");
    rows.push({
      work: flags === "" ? `memory per idle stream at ${count}${cut}` : `… with ${flags}`,
      ours: `${ours.map(short).join(" / ")} kB`,
      ratio: `bare ${ours.map((each) => signed(each - bare)).join(" / ")} kB`,
      budget: `bare + ${limit} kB`,
      isMet: ours.every((each) => each <= bare + limit),
      sdkV1: `bare ${signed(sdkV1 - bare)} kB`,
      sdkV03: `bare ${signed(sdkV03 - bare)} kB`,
    });
  }
  return rows;
}

function measureWith(
  flags: string,
  count: number,
  data: string,
): (file: string, version: Contender["version"]) => Promise<number> {
  return async (file, version) => {
    const folder = mkdtempSync(join(data, "idle-"));
    const target = await Target.start(file, { BENCH_DATA: folder, NODE_OPTIONS: flags });
    try {
      return await kilobytesPerStream(bothVersions(target)[version], count);
    } finally {
      await target.close();
    }
  };
}

async function kilobytesPerStream(contender: Contender, count: number): Promise<number> {
  const { target } = contender;
  // The first streams also load code, so they are not counted.
  await inFlight(50, 500, () => stream(contender, { manner: "burst", count: 10 }));
  const before = await settledRss(target);
  const opened = await inFlight(50, count, () => openStream(contender, IDLE));
  for (const { response } of opened) response.on("error", () => undefined).resume();
  const after = await settledRss(target);
  for (const { response } of opened) response.destroy();
  return (after - before) / count / 1024;
}

async function settledRss(target: Target): Promise<number> {
  await target.ask("rss");
  return target.ask<number>("rss");
}

function signed(kilobytes: number): string {
  return `${kilobytes < 0 ? "−" : "+"} ${short(Math.abs(kilobytes))}`;
}

/** How many files this process may have open. */
function descriptors(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    return Number(/Max open files\s+(\d+)/.exec(limits)?.[1] ?? 1024);
  } catch {
    return 10_000;
  }
}
