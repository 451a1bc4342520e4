import type { Field } from "./contenders.ts";
import { type Figure, type Samples, medianOf, ratioOf } from "./rounds.ts";

/** One printed line of the table. */
export interface Row {
  readonly work: string;
  /** By wire version, 0.3 first. */
  readonly ours: string;
  readonly ratio?: string;
  /** Absent: the line explains another one. */
  readonly budget?: string;
  /** Whether the budget is the least that is allowed, and not the most. */
  readonly isFloor?: boolean;
  readonly isMet?: boolean;
  readonly sdkV1?: string;
  readonly sdkV03?: string;
  /** The SDKs behind their Express adapter. */
  readonly expressV1?: string;
  readonly expressV03?: string;
  /** SDK 1.3.0 behind Express with its tasks in SQLite. */
  readonly sqlV1?: string;
}

const COLUMNS = [
  ["work", 67],
  ["ours (0.3 / 1.0)", 20],
  ["ratio to bare", 24],
  ["budget", 16],
  ["", 6],
  ["SDK 1.3.0", 21],
  ["SDK 0.3.14", 15],
  ["1.3.0, Express", 21],
  ["0.3.14, Express", 15],
  ["1.3.0, Express, SQLite", 22],
] as const;

export function printHead(): void {
  printCells(COLUMNS.map(([title]) => title));
  printCells(COLUMNS.map(([, width]) => "-".repeat(width)));
}

export function printRow(row: Row): void {
  const { work, ours, ratio = "", budget, isFloor = false, isMet } = row;
  const { sdkV1 = "", sdkV03 = "", expressV1 = "", expressV03 = "", sqlV1 = "" } = row;
  const limit = budget === undefined ? "" : `${isFloor ? "≥" : "≤"} ${budget}`;
  const verdict = budget === undefined ? "" : isMet === true ? "ok" : "MISSED";
  printCells([work, ours, ratio, limit, verdict, sdkV1, sdkV03, expressV1, expressV03, sqlV1]);
}

function printCells(cells: readonly string[]): void {
  const padded = cells.map((cell, place) => cell.padEnd(COLUMNS[place]?.[1] ?? 0));
  console.log(`| ${padded.join(" | ")} |`);
}

export interface RowOptions {
  readonly work: string;
  readonly unit: string;
  /** The budget. Absent: the line explains another one. */
  readonly limit?: number;
  /** The contender that the budget applies to. */
  readonly ours?: "ours" | "memory";
}

/** A line whose budget is a multiple of the cost of bare `node:http`. */
export function ratioRow(field: Field, samples: Samples<Figure>, options: RowOptions): Row {
  const { work, unit, limit, ours = "ours" } = options;
  const toBare = (contender: Field["sdkV1"]): Figure =>
    ratioOf(samples, contender, field.bare[contender.version]);
  const { "0.3": old, "1.0": current } = field[ours];
  const ratios = [toBare(old), toBare(current)];
  return {
    work,
    ours: pair([medianOf(samples, old), medianOf(samples, current)], unit),
    ratio: pair(ratios, "×"),
    ...judged(ratios, "×", limit),
    sdkV1: show(toBare(field.sdkV1), "×"),
    sdkV03: show(toBare(field.sdkV03), "×"),
    ...(field.express && {
      expressV1: show(toBare(field.express["1.0"]), "×"),
      expressV03: show(toBare(field.express["0.3"]), "×"),
    }),
    ...(field.sqlV1 && { sqlV1: show(toBare(field.sqlV1), "×") }),
  };
}

/** The row alone, if another line has the peers. */
export function withoutPeers(row: Row): Row {
  const { work, ours, ratio, budget, isMet } = row;
  return { work, ours, ...(ratio && { ratio }), ...(budget && { budget, isMet: isMet === true }) };
}

/** Whether all figures are within the limit, if there is one. */
function judged(
  figures: readonly Figure[],
  unit: string,
  limit: number | undefined,
): Pick<Row, "budget" | "isMet"> {
  if (limit === undefined) return {};
  return { budget: `${limit}${unit}`, isMet: figures.every(({ value }) => value <= limit) };
}

/** A line whose budget is a multiple of what SDK 0.3.14 costs behind its Express adapter. */
export function overPeerRow(field: Field, samples: Samples<Figure>, options: RowOptions): Row {
  const { work, unit, limit, ours = "ours" } = options;
  const { "0.3": old, "1.0": current } = field[ours];
  const peer = field.express?.["0.3"] ?? field.sdkV03;
  const ratios = [old, current].map((contender) => ratioOf(samples, contender, peer));
  return {
    work,
    ours: pair([medianOf(samples, old), medianOf(samples, current)], unit),
    ratio: `${pair(ratios, "×")} 0.3.14`,
    ...judged(ratios, "×", limit),
  };
}

/** A line whose budget is an absolute figure. */
export function figureRow(
  field: Field,
  figure: (contender: Field["sdkV1"]) => Figure,
  { work, unit, limit }: RowOptions,
): Row {
  const figures = [figure(field.ours["0.3"]), figure(field.ours["1.0"])];
  return {
    work,
    ours: pair(figures, unit),
    ...judged(figures, unit, limit),
    sdkV1: show(figure(field.sdkV1), unit),
    sdkV03: show(figure(field.sdkV03), unit),
  };
}

/** Two figures with one unit. */
export function pair(figures: readonly Figure[], unit: string): string {
  return `${figures.map((figure) => show(figure, "")).join(" / ")}${unit}`;
}

function show({ value, cutOff }: Figure, unit: string): string {
  if (Number.isNaN(value)) return "–";
  return cutOff ? `> ${short(value)}${unit} (cut off)` : `${short(value)}${unit}`;
}

/** Three digits, which is the precision of such figures. */
export function short(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}
