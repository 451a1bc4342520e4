import type { CommandContext, CommandIo } from "./command.ts";
import { textField } from "./json-fields.ts";
import { printable, printableJson } from "@convoke/protocol/internal";

type Paint = (text: string) => string;

export interface Colours {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly yellow: Paint;
}

const asItIs: Paint = (text) => text;

/** No colours at all. */
export const PLAIN: Colours = { bold: asItIs, dim: asItIs, red: asItIs, yellow: asItIs };

/** Colours for a terminal that supports them, unless NO_COLOR is set (no-color.org). */
export function coloursFor(io: CommandIo, stream: "stdout" | "stderr"): Colours {
  const isOn = io.isTTY[stream] && !io.env["NO_COLOR"] && io.env["TERM"] !== "dumb";
  const paint =
    (start: number, end: number): Paint =>
    (text) =>
      isOn ? `\u001B[${start}m${text}\u001B[${end}m` : text;
  return { bold: paint(1, 22), dim: paint(2, 22), red: paint(31, 39), yellow: paint(33, 39) };
}

/** Prints a remark on stderr: a line of text, or an object with --json, so that programs can parse both streams. */
export function note(
  { io, flag }: Pick<CommandContext, "io" | "flag">,
  message: string,
  more: Readonly<Record<string, unknown>> = {},
): void {
  const line = flag("json") ? printableJson({ notice: { message, ...more } }) : printable(message);
  io.stderr(`${line}\n`);
}

/** Aligned columns below their headings. Cells are printed as they are, so they must not contain line breaks. */
export function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  { dim }: Colours,
): string {
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return `${[dim(line(heads)), ...rows.map(line)].join("\n")}\n`;
}

/** The owner of an entry of the admin API, with its tenant. Empty if it is the caller's own. */
export function ownerText(entry: Readonly<Record<string, unknown>>): string {
  const owner = textField(entry, "owner");
  const tenant = textField(entry, "tenant");
  return tenant === "" ? owner : `${owner} (${tenant})`;
}

const MINUTE = 60_000;

const HOUR = 60 * MINUTE;

const DAY = 24 * HOUR;

/** How long ago a timestamp is, as one rounded number. */
export function formatAge(timestamp: string | undefined, now: number): string {
  const ageMs = Math.max(0, now - Date.parse(timestamp ?? ""));
  if (Number.isNaN(ageMs)) return "?";
  if (ageMs < MINUTE) return `${Math.floor(ageMs / 1000)}s`;
  if (ageMs < HOUR) return `${Math.floor(ageMs / MINUTE)}m`;
  return ageMs < 2 * DAY ? `${Math.floor(ageMs / HOUR)}h` : `${Math.floor(ageMs / DAY)}d`;
}
