/** How often something happened in a step, and how long it took. */
interface Durations {
  readonly count: number;
  readonly p50Ms?: number;
  readonly p95Ms?: number;
}

/** The calls of a model by an agent. */
export interface ModelNumbers {
  readonly agent: string;
  readonly model: string;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd?: number;
}

/** What happened in a step. */
export interface Sample {
  readonly at: string;
  readonly running: number;
  readonly unfinished: number;
  readonly streams: number;
  readonly pushPending: number;
  readonly memoryBytes: number;
  readonly requests: Durations & { readonly failed: number };
  readonly tasks: { readonly started: number; readonly ended: Readonly<Record<string, number>> };
  readonly commits: Durations;
  readonly models: readonly ModelNumbers[];
}

/** What `/convoke/metrics` answers. */
export interface Metrics {
  readonly uptimeSeconds: number;
  readonly stepSeconds: number;
  readonly now: {
    readonly running: number;
    readonly waiting: number;
    readonly unfinished: number;
    readonly byState: Readonly<Record<string, number>>;
    readonly streams: number;
    readonly push: { readonly pending: number; readonly oldestSeconds: number };
    readonly commits: Durations;
    readonly memory: { readonly rssBytes: number; readonly heapUsedBytes: number };
    readonly problem?: string;
  };
  readonly history: readonly Sample[];
}

/** A value for each step of the history, the oldest first. `undefined` if nothing happened. */
export type Series = readonly (number | undefined)[];

/** The series that are drawn. Counts are per second. */
export function seriesOf({ history, stepSeconds }: Metrics) {
  // The last step has not ended yet, so its counts would look like a drop.
  const ended = history.slice(0, -1);
  const rate = (count: (sample: Sample) => number): Series =>
    ended.map((sample) => count(sample) / stepSeconds);
  return {
    requests: rate(({ requests }) => requests.count),
    requestTime: ended.map(({ requests }) => requests.p95Ms),
    running: history.map(({ running }) => running),
    streams: history.map(({ streams }) => streams),
    started: rate(({ tasks }) => tasks.started),
    failed: rate(({ tasks }) => (tasks.ended["failed"] ?? 0) + (tasks.ended["rejected"] ?? 0)),
    commits: rate(({ commits }) => commits.count),
    commitTime: ended.map(({ commits }) => commits.p95Ms),
    tokens: rate(({ models }) =>
      models.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0),
    ),
    pushPending: history.map(({ pushPending }) => pushPending),
    memory: history.map(({ memoryBytes }) => memoryBytes),
  } satisfies Record<string, Series>;
}

/** The calls of the hour by agent and model, the most expensive first. */
export function sumModels(history: readonly Sample[]): readonly ModelNumbers[] {
  const sums = new Map<string, ModelNumbers>();
  for (const { models } of history) {
    for (const each of models) {
      const key = JSON.stringify([each.agent, each.model]);
      const sum = sums.get(key);
      sums.set(key, sum === undefined ? each : add(sum, each));
    }
  }
  return [...sums.values()].toSorted((one, other) => weight(other) - weight(one));
}

function add(sum: ModelNumbers, more: ModelNumbers): ModelNumbers {
  const costs = [sum.costUsd, more.costUsd].filter((cost) => cost !== undefined);
  return {
    ...sum,
    calls: sum.calls + more.calls,
    inputTokens: sum.inputTokens + more.inputTokens,
    outputTokens: sum.outputTokens + more.outputTokens,
    ...(costs.length > 0 && { costUsd: costs.reduce((one, other) => one + other) }),
  };
}

/** Models without a price are ordered by their tokens, after those with one. */
function weight({ costUsd = 0, inputTokens, outputTokens }: ModelNumbers): number {
  return costUsd * 1e12 + inputTokens + outputTokens;
}

/** How many tasks ended in the hour, by state. */
export function sumEnded(history: readonly Sample[]): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const { tasks } of history) {
    for (const [state, count] of Object.entries(tasks.ended)) {
      sums[state] = (sums[state] ?? 0) + count;
    }
  }
  return sums;
}
