/** The calls to the storage, and what they returned. */
export interface Cost {
  readonly commits: number;
  readonly events: number;
  readonly eventBytes: number;
  readonly snapshotBytes: number;
  /** Reads of a log. */
  readonly reads: number;
  readonly eventsRead: number;
  readonly eventBytesRead: number;
  /** Reads of the task index. */
  readonly lookups: number;
  readonly recordsRead: number;
  /** Bytes of the snapshots in those records. */
  readonly snapshotBytesRead: number;
}

const NOTHING: Cost = {
  commits: 0,
  events: 0,
  eventBytes: 0,
  snapshotBytes: 0,
  reads: 0,
  eventsRead: 0,
  eventBytesRead: 0,
  lookups: 0,
  recordsRead: 0,
  snapshotBytesRead: 0,
};

/** All calls to a storage in order, with their cost. */
export class Ledger {
  readonly #calls: { readonly head: number; readonly cost: Cost }[] = [];
  /** How many events were passed so far. */
  #head = 0;

  note(cost: Partial<Cost>): void {
    this.#head += cost.events ?? 0;
    this.#calls.push({ head: this.#head, cost: { ...NOTHING, ...cost } });
  }

  /** A point in time, for `between`. */
  get mark(): number {
    return this.#calls.length;
  }

  /** The calls from one mark to another. */
  between(first: number, last = this.mark): Cost {
    return sum(this.#calls.slice(first, last).map(({ cost }) => cost));
  }

  /** The calls while the number of events grew from the first number to the second. */
  whileEvents(from: number, to: number): Cost {
    const calls = this.#calls.filter(({ head }) => head > from && head <= to);
    return sum(calls.map(({ cost }) => cost));
  }

  /** The totals after each call. */
  *totals(): Generator<Cost> {
    let total = NOTHING;
    for (const { cost } of this.#calls) yield (total = add(total, cost));
  }
}

/** The cost divided by the count. */
export function each(cost: Cost, count: number): Cost {
  return mapped(cost, (amount) => amount / count);
}

function sum(costs: readonly Cost[]): Cost {
  let total = NOTHING;
  for (const cost of costs) total = add(total, cost);
  return total;
}

function add(left: Cost, right: Cost): Cost {
  return mapped(left, (amount, name) => amount + right[name]);
}

function mapped(cost: Cost, change: (amount: number, name: keyof Cost) => number): Cost {
  const names = Object.keys(cost) as (keyof Cost)[];
  const entries = names.map((name) => [name, change(cost[name], name)]);
  return Object.fromEntries(entries) as unknown as Cost;
}
