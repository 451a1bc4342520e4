import { METRICS, type MetricName } from "@convoke/protocol";
import type { MetricsRegistry } from "./metrics-registry.ts";

/** What is read from the server itself, at the end of a step. */
export interface ServerGauges {
  readonly running: number;
  readonly unfinished: number;
  readonly streams: number;
  readonly pushPending: number;
  readonly memoryBytes: number;
}

/** How many, and about how long, estimated from the buckets of a histogram. */
interface Durations {
  readonly count: number;
  /** Absent if there were none. */
  readonly p50Ms?: number;
  readonly p95Ms?: number;
}

interface ModelNumbers {
  readonly agent: string;
  readonly model: string;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

/** What happened in one step. */
export interface MetricsSample extends ServerGauges {
  /** The end of the step, in milliseconds since the epoch. */
  readonly at: number;
  readonly requests: Durations & { readonly failed: number };
  readonly tasks: { readonly started: number; readonly ended: Readonly<Record<string, number>> };
  /** Transactions of the storage. */
  readonly commits: Durations;
  /** Those that were called. */
  readonly models: readonly ModelNumbers[];
}

const STEP_MS = 10_000;

/** One hour. */
const MAX_SAMPLES = 360;

/**
 * Keeps what happened in each step of the last hour. A sample costs a few additions for each series
 * that is measured, and no gauge of the registry is read: some of them cost more if they are read often.
 */
export class MetricsHistory {
  readonly stepMs = STEP_MS;
  readonly #metrics: MetricsRegistry;
  readonly #readGauges: () => ServerGauges;
  readonly #samples: MetricsSample[] = [];
  #before: Totals;
  #timer: NodeJS.Timeout | undefined;

  constructor(metrics: MetricsRegistry, readGauges: () => ServerGauges) {
    this.#metrics = metrics;
    this.#readGauges = readGauges;
    this.#before = readTotals(metrics);
  }

  /** Takes samples until it is stopped. */
  start(): void {
    this.#timer ??= setInterval(() => this.sample(Date.now()), STEP_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Ends a step. */
  sample(at: number): void {
    const totals = readTotals(this.#metrics);
    this.#samples.push(this.#since(this.#before, totals, at));
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
    this.#before = totals;
  }

  /** The steps of the last hour, oldest first. The last one is the step that has not ended yet. */
  read(at: number): readonly MetricsSample[] {
    return [...this.#samples, this.#since(this.#before, readTotals(this.#metrics), at)];
  }

  #since(before: Totals, totals: Totals, at: number): MetricsSample {
    const total = (name: MetricName, isMeant: (labels: readonly string[]) => boolean = all) =>
      sum(difference(name, before, totals).filter(({ labels }) => isMeant(labels)));
    const requests = durations("requestSeconds", before, totals);
    const ended = difference("tasksEnded", before, totals).filter(({ value }) => value > 0);
    return {
      at,
      ...this.#readGauges(),
      requests: { ...requests, failed: total("requests", ([, , code]) => code !== "ok") },
      tasks: {
        started: total("tasksStarted"),
        ended: Object.fromEntries(ended.map(({ labels: [state = ""], value }) => [state, value])),
      },
      commits: durations("commitSeconds", before, totals),
      models: modelNumbers(before, totals),
    };
  }
}

const all = (): boolean => true;

const SAMPLED = [
  "requests",
  "requestSeconds",
  "tasksStarted",
  "tasksEnded",
  "commitSeconds",
  "modelCalls",
  "modelTokens",
  "modelCost",
] as const satisfies readonly MetricName[];

/** A series at some time. */
interface Total {
  readonly labels: readonly string[];
  readonly value: number;
  readonly counts: readonly number[];
}

/** All sampled series at some time, by metric and labels. */
type Totals = ReadonlyMap<MetricName, ReadonlyMap<string, Total>>;

function readTotals(metrics: MetricsRegistry): Totals {
  return new Map(
    SAMPLED.map((name) => {
      const series = Array.from(metrics.series(name), ({ labels, value, counts }) => {
        return [labels.join("\n"), { labels, value, counts: [...counts] }] as const;
      });
      return [name, new Map(series)];
    }),
  );
}

/** What each series of a metric has added. */
function difference(name: MetricName, before: Totals, totals: Totals): readonly Total[] {
  return Array.from(totals.get(name) ?? [], ([key, { labels, value, counts }]) => {
    const earlier = before.get(name)?.get(key);
    return {
      labels,
      value: value - (earlier?.value ?? 0),
      counts: counts.map((count, index) => count - (earlier?.counts[index] ?? 0)),
    };
  });
}

function sum(series: readonly Pick<Total, "value">[]): number {
  return series.reduce((total, { value }) => total + value, 0);
}

/** The durations of all series of a histogram together. */
function durations(
  name: "requestSeconds" | "commitSeconds",
  before: Totals,
  totals: Totals,
): Durations {
  const { buckets } = METRICS[name];
  const series = difference(name, before, totals);
  const counts = [...buckets, Infinity].map((_, index) =>
    series.reduce((total, one) => total + (one.counts[index] ?? 0), 0),
  );
  const count = counts.reduce((total, one) => total + one, 0);
  if (count === 0) return { count };
  const ms = (share: number): number =>
    Number((quantile(buckets, counts, share * count) * 1000).toFixed(3));
  return { count, p50Ms: ms(0.5), p95Ms: ms(0.95) };
}

/** Estimates a quantile as Prometheus does: values are assumed to be spread evenly in their bucket. */
function quantile(buckets: readonly number[], counts: readonly number[], rank: number): number {
  let below = 0;
  for (const [index, count] of counts.entries()) {
    if (below + count < rank) {
      below += count;
      continue;
    }
    const lower = buckets[index - 1] ?? 0;
    // Above the last bound nothing is known.
    const upper = buckets[index] ?? lower;
    return lower + (upper - lower) * ((rank - below) / count);
  }
  return buckets.at(-1) ?? 0;
}

function modelNumbers(before: Totals, totals: Totals): readonly ModelNumbers[] {
  const models = new Map<string, { -readonly [Key in keyof ModelNumbers]: ModelNumbers[Key] }>();
  const find = ([agent = "", model = ""]: readonly string[]) => {
    const key = `${agent}\n${model}`;
    const zero = { agent, model, calls: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 };
    const found = models.get(key) ?? zero;
    models.set(key, found);
    return found;
  };
  for (const { labels, value } of difference("modelCalls", before, totals)) {
    if (value > 0) find(labels).calls += value;
  }
  for (const { labels, value } of difference("modelTokens", before, totals)) {
    if (value > 0) find(labels)[labels[2] === "input" ? "inputTokens" : "outputTokens"] += value;
  }
  for (const { labels, value } of difference("modelCost", before, totals)) {
    if (value > 0) find(labels).costUsd += value;
  }
  return [...models.values()];
}
