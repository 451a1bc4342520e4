import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Row } from "./table.ts";

/**
 * Draws the lines of a run that have a ratio to bare `node:http`, beside the official SDKs:
 *
 *     npm run bench -- --json results.json && npm run bench:chart -- results.json bench/chart.svg
 */
const { positionals } = parseArgs({ allowPositionals: true });
const [from, to] = positionals;
if (from === undefined || to === undefined) throw new Error("name the results and the chart");

interface Results {
  readonly at: string;
  readonly node: string;
  readonly cpu?: string;
  readonly cores: number;
  readonly rows: readonly Row[];
}

interface Bar {
  readonly name: string;
  readonly value: number;
  /** Whether the peer was stopped before it had finished: it would have taken longer. */
  readonly isCutOff: boolean;
  readonly style: "ours" | "peer";
}

const WIDTH = 860;
const LEFT = 190;
const BAR = 16;
const GAP = 26;
/** Longer bars are cut, and say so. */
const MOST = 10;

const results = JSON.parse(readFileSync(from, "utf8")) as Results;
writeFileSync(to, chart(results));

function chart({ at, node, cpu = "unknown CPU", cores, rows }: Results): string {
  const groups = rows.filter(isOfServer).map((row) => ({ work: row.work, bars: barsOf(row) }));
  let y = 82;
  const drawn = groups.map(({ work, bars }) => {
    const lines = [
      text(16, y, work, "work"),
      ...bars.map((bar, place) => drawBar(bar, y + 10 + place * BAR)),
    ];
    y += 10 + bars.length * BAR + GAP;
    return lines.join("\n");
  });
  const machine = `${at.slice(0, 10)}, Node ${node}, ${cores} cores, ${cpu}.`;
  const storage =
    "Ours stores every event on disk (SQLite, synced); the SDKs keep theirs in memory, unless it says SQLite.";
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 8}" role="img" aria-label="Server CPU per operation, relative to bare node:http">
<style>
text { font: 12px system-ui, sans-serif; fill: #1c2030 }
.title { font-size: 16px; font-weight: 700 } .work { font-weight: 600 } .note { fill: #5a6072 }
.ours { fill: #4f46e5 } .peer { fill: #a9afc2 }
@media (prefers-color-scheme: dark) { text { fill: #e8eaf1 } .note { fill: #a9b0c2 } .ours { fill: #8f8bff } .peer { fill: #565d72 } }
</style>
${text(16, 24, "Server CPU per operation, relative to bare node:http (shorter is better)", "title")}
${text(16, 42, machine, "note")}
${text(16, 58, storage, "note")}
${drawn.join("\n")}
</svg>
`;
}

/** Whether the line compares the CPU of servers: others are times, sizes, or of clients. */
function isOfServer({ work, ratio = "", sdkV03 = "" }: Row): boolean {
  return ratio.endsWith("×") && sdkV03.endsWith("×") && !/^(?:client|…)/.test(work);
}

function barsOf({ ratio, sdkV1, sdkV03, expressV1, expressV03, sqlV1 }: Row): readonly Bar[] {
  const given: readonly (readonly [string, string | undefined, Bar["style"]])[] = [
    ["Convoke, SQLite", ratio, "ours"],
    expressV03?.endsWith("×") === true
      ? ["SDK 0.3.14, Express", expressV03, "peer"]
      : ["SDK 0.3.14", sdkV03, "peer"],
    expressV1?.includes("×") === true
      ? ["SDK 1.3.0, Express", expressV1, "peer"]
      : ["SDK 1.3.0", sdkV1, "peer"],
    ["1.3.0, Express, SQLite", sqlV1, "peer"],
  ];
  return given.flatMap(([name, shown, style]) => {
    const value = Math.max(...Array.from(shown?.matchAll(/\d+(?:\.\d+)?/g) ?? [], Number));
    if (!Number.isFinite(value)) return [];
    return [{ name, value, isCutOff: shown?.startsWith(">") === true, style }];
  });
}

function drawBar({ name, value, isCutOff, style }: Bar, y: number): string {
  const scale = (WIDTH - LEFT - 130) / MOST;
  const width = Math.min(value, MOST) * scale;
  const label = `${isCutOff ? "more than " : ""}${value}×`;
  return [
    text(28, y + 11, name, "note"),
    `<rect class="${style}" x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="${BAR - 4}" rx="3"/>`,
    text(LEFT + width + 6, y + 11, value > MOST ? `${label} →` : label, "note"),
  ].join("");
}

function text(x: number, y: number, words: string, style: string): string {
  const safe = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${x.toFixed(1)}" y="${y}" class="${style}">${safe}</text>`;
}
