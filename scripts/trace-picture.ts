import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ReceivedSpan } from "../test/tracing/otlp-receiver.ts";

const WIDTH = 960;
const LABELS = 300;
const BARS = 560;
const MARGIN = 12;
const INDENT = 16;
const TOP = 8;
const ROW = 24;
const BASELINE = 16;

const COLORS: Readonly<Record<string, string>> = {
  POST: "#0969da",
  invoke_agent: "#8250df",
  chat: "#1a7f37",
  execute_tool: "#bf8700",
  task: "#6e7781",
};

/**
 * Draws the trace of the guide (docs/guide/trace.svg) from the spans that the test of the whole
 * trace has received:
 *
 *     node scripts/trace-picture.ts
 */
const folder = mkdtempSync(join(tmpdir(), "convoke-trace-"));
const file = join(folder, "spans.json");
execFileSync("npx", ["vitest", "run", "test/tracing/one-trace.test.ts"], {
  env: { ...process.env, CONVOKE_TRACE_FILE: file },
});
const spans = JSON.parse(readFileSync(file, "utf8")) as readonly ReceivedSpan[];
rmSync(folder, { recursive: true });
writeFileSync("docs/guide/trace.svg", draw(spans));

interface Row {
  readonly span: ReceivedSpan;
  readonly depth: number;
}

/** Each span below its parent, in the order in which they started. */
function rowsBelow(parent: string | undefined, depth = 0): readonly Row[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .toSorted((one, other) => one.start - other.start)
    .flatMap((span) => [{ span, depth }, ...rowsBelow(span.spanId, depth + 1)]);
}

function draw(all: readonly ReceivedSpan[]): string {
  const rows = rowsBelow(undefined);
  const start = Math.min(...all.map((span) => span.start));
  const end = Math.max(...all.map((span) => span.end));
  const scale = BARS / (end - start);
  const height = TOP + rows.length * ROW + TOP;
  const lines = rows.map(({ span, depth }, index) => {
    const y = TOP + index * ROW;
    const x = LABELS + (span.start - start) * scale;
    const width = Math.max(2, (span.end - span.start) * scale);
    const ms = (span.end - span.start).toFixed(1);
    return [
      `<rect x="0" y="${y}" width="${WIDTH}" height="${ROW}" fill="${index % 2 === 0 ? "#f6f8fa" : "#ffffff"}"/>`,
      `<text x="${MARGIN + depth * INDENT}" y="${y + BASELINE}">${escape(span.name)}</text>`,
      `<rect x="${x.toFixed(1)}" y="${y + 5}" width="${width.toFixed(1)}" height="${ROW - 10}" rx="3" fill="${colorOf(span)}"/>`,
      `<text class="time" x="${WIDTH - MARGIN}" y="${y + BASELINE}">${ms} ms</text>`,
    ].join("\n");
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="A trace: ${rows.length} spans, each below its parent">
<style>text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1f2328 } .time { text-anchor: end; fill: #59636e }</style>
<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
${lines.join("\n")}
</svg>
`;
}

function colorOf({ name }: ReceivedSpan): string {
  return COLORS[name.split(" ")[0] ?? ""] ?? "#afb8c1";
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
