import type { Colours } from "./colours.ts";

/** Rows in aligned columns below their heads. Cells are shown as they are: whoever fills them makes them one line. */
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
