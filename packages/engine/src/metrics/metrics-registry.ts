import { METRICS, type MetricName, type Metrics } from "@convoke/protocol";

/** Beyond this, label values of a metric are counted together: a mistake must not exhaust the memory. */
const MAX_SERIES = 500;

const OTHER = "other";

/** What is known about one combination of label values. */
export interface Series {
  readonly labels: readonly string[];
  /** The value of a counter or gauge; the sum of a histogram. */
  value: number;
  /** How many values of a histogram were in each bucket, and above all of them. */
  readonly counts: number[];
}

/** Keeps measurements in memory, and writes them in the text format of Prometheus. */
export class MetricsRegistry implements Metrics {
  readonly #series = new Map<MetricName, Map<string, Series>>();
  readonly #collectors = new Set<Parameters<Metrics["collect"]>[0]>();

  count: Metrics["count"] = (name, labels, amount = 1) => {
    this.#find(name, labels).value += amount;
  };

  observe: Metrics["observe"] = (name, value, labels) => {
    const series = this.#find(name, labels);
    const { buckets } = METRICS[name];
    const index = buckets.findIndex((bound) => value <= bound);
    const bucket = index === -1 ? buckets.length : index;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.value += value;
  };

  collect: Metrics["collect"] = (callback) => {
    this.#collectors.add(callback);
    return () => this.#collectors.delete(callback);
  };

  /** The text format of Prometheus, version 0.0.4. */
  text(): string {
    this.#readGauges();
    const names = Object.keys(METRICS) as readonly MetricName[];
    return names.map((name) => this.#lines(name)).join("");
  }

  /** The counters or histograms of a name as they are now. Gauges have values only while they are read. */
  series(name: MetricName): Iterable<Readonly<Series>> {
    return this.#series.get(name)?.values() ?? [];
  }

  #readGauges(): void {
    for (const [name, series] of this.#series) if (METRICS[name].kind === "gauge") series.clear();
    for (const collector of this.#collectors) {
      collector((name, value, labels) => {
        this.#find(name, labels).value += value;
      });
    }
  }

  #find(name: MetricName, labels: readonly string[] = []): Series {
    const all = this.#series.get(name) ?? new Map<string, Series>();
    this.#series.set(name, all);
    const found = all.get(labels.join("\n"));
    if (found !== undefined) return found;
    const kept = all.size < MAX_SERIES ? labels : labels.map(() => OTHER);
    const key = kept.join("\n");
    const series = all.get(key) ?? { labels: kept, value: 0, counts: noCounts(name) };
    all.set(key, series);
    return series;
  }

  #lines(name: MetricName): string {
    const { name: title, help, kind } = METRICS[name];
    // A counter that has to be read as a gauge is still one for Prometheus.
    const type = title.endsWith("_total") ? "counter" : kind;
    const series = [...(this.#series.get(name)?.values() ?? [])];
    // Metrics without labels are shown from the start, so that they can be found.
    const isBare = !("labels" in METRICS[name]) && series.length === 0;
    const shown = isBare ? [{ labels: [], value: 0, counts: [] }] : series;
    if (shown.length === 0) return "";
    const samples = shown.flatMap((one) =>
      kind === "histogram" ? histogramLines(name, one) : [line(name, "", one.labels, one.value)],
    );
    return `# HELP ${title} ${help.replaceAll("\\", "\\\\")}\n# TYPE ${title} ${type}\n${samples.join("")}`;
  }
}

function noCounts(name: MetricName): number[] {
  const definition = METRICS[name];
  if (!("buckets" in definition)) return [];
  return Array.from({ length: definition.buckets.length + 1 }, () => 0);
}

function histogramLines(name: MetricName, { labels, value, counts }: Series): readonly string[] {
  const definition = METRICS[name];
  const bounds = "buckets" in definition ? definition.buckets : [];
  let total = 0;
  const buckets = [...bounds.map(String), "+Inf"].map((bound, index) => {
    total += counts[index] ?? 0;
    return line(name, "_bucket", labels, total, bound);
  });
  return [...buckets, line(name, "_sum", labels, value), line(name, "_count", labels, total)];
}

function line(
  name: MetricName,
  suffix: string,
  values: readonly string[],
  value: number,
  bound?: string,
): string {
  const definition = METRICS[name];
  const names: readonly string[] = "labels" in definition ? definition.labels : [];
  const pairs = names.map((label, index) => `${label}="${escapeLabel(values[index] ?? "")}"`);
  const all = bound === undefined ? pairs : [...pairs, `le="${bound}"`];
  const labels = all.length === 0 ? "" : `{${all.join(",")}}`;
  return `${definition.name}${suffix}${labels} ${value}\n`;
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
