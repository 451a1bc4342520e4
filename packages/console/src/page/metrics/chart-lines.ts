import type { Series } from "./hour.ts";

/** The drawing is stretched to its place. */
export const HEIGHT = 56;

/** A young server has few steps, which should not fill the chart. */
export const MIN_STEPS = 60;

/** The points of each uninterrupted part of the series. The newest value is at the right edge. */
export function linesOf(series: Series, highest: number): readonly string[] {
  const first = Math.max(0, MIN_STEPS - series.length);
  const lines: string[][] = [[]];
  for (const [place, value] of series.entries()) {
    if (value === undefined) lines.push([]);
    else {
      const y = HEIGHT - 2 - (highest === 0 ? 0 : (value / highest) * (HEIGHT - 6));
      lines.at(-1)!.push(`${first + place + 1},${Number(y.toFixed(1))}`);
    }
  }
  return lines.filter(({ length }) => length > 0).map(asLine);
}

/** A single point has no length, so it is drawn as a short line. */
function asLine(points: readonly string[]): string {
  const [only = "", ...others] = points;
  if (others.length > 0) return points.join(" ");
  const [x, y] = only.split(",").map(Number);
  return `${x! - 1},${y} ${x},${y}`;
}

/** The outline of the area below a line. */
export function areaBelow(points: string): string {
  const all = points.split(" ");
  const [from] = all[0]!.split(",");
  const [to] = all.at(-1)!.split(",");
  return `M${from},${HEIGHT} L${all.join(" L")} L${to},${HEIGHT} Z`;
}
