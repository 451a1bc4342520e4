import { HEIGHT, MIN_STEPS, areaBelow, linesOf } from "./chart-lines.ts";
import type { Series } from "./hour.ts";

interface ChartProps {
  readonly title: string;
  readonly series: Series;
  readonly format: (value: number) => string;
  readonly kind?: "info" | "bad" | "violet";
}

/** A line over the last hour, or over the time since the server started, with its current and its highest value as text. */
export function Chart({ title, series, format, kind = "info" }: ChartProps) {
  const values = series.filter((value) => value !== undefined);
  const last = values.at(-1);
  const highest = Math.max(0, ...values);
  const now = last === undefined ? "–" : format(last);
  const most = values.length === 0 ? "" : `highest ${format(highest)}`;
  return (
    <figure class={`card chart ${kind}`}>
      <figcaption>
        <span class="muted small">{title}</span>
        <span class="chart-now">{now}</span>
        <span class="muted small chart-most">{most}</span>
      </figcaption>
      <svg
        role="img"
        aria-label={`${title} in the last hour: now ${now}${most && `, ${most}`}`}
        viewBox={`0 0 ${Math.max(series.length, MIN_STEPS)} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        {linesOf(series, highest).map((points) => (
          <g key={points}>
            <path class="chart-area" d={areaBelow(points)} />
            <polyline class="chart-line" points={points} />
          </g>
        ))}
      </svg>
    </figure>
  );
}
