import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { streamAnswer } from "./client.ts";
import { type Contender, cpuPerStream, median, ratioOf } from "./measures/cpu-per-stream.ts";
import { startToCard } from "./measures/start.ts";
import { startTarget } from "./target.ts";

/** Runs every measure once, ours beside bare `node:http`, and prints the table with its budget. */
const data = mkdtempSync(join(process.cwd(), ".convoke-bench-"));
const bare = await startTarget("bare node:http", "bare.ts");
const convoke = await startTarget("convoke", "convoke.ts", { BENCH_DATA: data });
const ours: readonly Contender[] = [
  { label: "convoke 0.3", target: convoke, version: "0.3" },
  { label: "convoke 1.0", target: convoke, version: "1.0" },
];
const all: readonly Contender[] = [{ label: bare.name, target: bare, version: "0.3" }, ...ours];

try {
  console.log(
    `Node ${process.versions.node}, tasks in SQLite with synchronous=FULL, CPU of all threads\n`,
  );
  await cpuPerStream(all, { count: 1000, rounds: 4, streams: 10 });

  const burst = await cpuPerStream(all, { count: 1000, rounds: 24, streams: 8 });
  for (const [label, cpus] of burst) {
    const ratio = ratioOf(burst, label, bare.name);
    const figure = `${(median(cpus) / 1000).toFixed(2)} ms CPU`;
    line(
      `burst of 1000 chunks, ${label}`,
      figure,
      `${ratio.toFixed(2)}×`,
      label === bare.name ? "" : "≤ 2×",
    );
  }

  const small = await cpuPerStream(ours, { count: 100, rounds: 12, streams: 40 });
  const middle = await cpuPerStream(ours, { count: 1000, rounds: 12, streams: 10 });
  const large = await cpuPerStream(ours, { count: 10_000, rounds: 8, streams: 3 });
  for (const { label } of ours) {
    const [s = 0, m = 0, l = 0] = [small, middle, large].map((samples) =>
      median(samples.get(label) ?? []),
    );
    const ratio = (l - m) / 9000 / ((m - s) / 900);
    line(
      `marginal cost of a chunk, ${label}`,
      `${((l - m) / 9000).toFixed(2)} µs`,
      ratio.toFixed(2),
      "≤ 1.15",
    );
    line(`answer of 10 000 chunks, ${label}`, `${(l / 1e6).toFixed(3)} s CPU`, "", "≤ 0.15 s");
  }

  for (const { label, target, version } of all) {
    const firsts = [];
    for (let round = 0; round < 9; round++)
      firsts.push((await streamAnswer(target.url, version, 10_000)).firstByteMs);
    line(
      `first byte of a 10 000-chunk burst, ${label}`,
      `${median(firsts).toFixed(1)} ms`,
      "",
      label === bare.name ? "" : "≤ 10 ms",
    );
  }

  line(
    "start of the convoke process to its card",
    `${(await startToCard(7)).toFixed(0)} ms`,
    "",
    "≤ 500 ms",
  );
} finally {
  bare.close();
  convoke.close();
  rmSync(data, { recursive: true, force: true });
}

function line(work: string, figure: string, ratio: string, budget: string): void {
  console.log(`${work.padEnd(48)} ${figure.padStart(16)} ${ratio.padStart(8)}  ${budget}`);
}
