/** What the measuring process may ask a target. */
export type Question = "ping" | "cpu" | "rss" | "counts" | "open gate";

/** Where a target listens. */
export interface Ready {
  readonly url: string;
}

/** How often the storage was written to: single steps, and the commits that they shared. */
export interface Counts {
  readonly steps: number;
  readonly commits: number;
}

let gate = Promise.withResolvers<void>();

/** Resolves when the measuring process opens the gate. */
export function gateOpened(): Promise<void> {
  return gate.promise;
}

/** Tells the measuring process where this target listens, and answers its questions until it is gone. */
export function report(url: string, counts: Counts = { steps: 0, commits: 0 }): void {
  const answers: Record<Question, () => unknown> = {
    ping: () => "pong",
    cpu: () => process.cpuUsage(),
    rss: () => {
      globalThis.gc?.();
      return process.memoryUsage.rss();
    },
    counts: () => counts,
    "open gate": () => {
      gate.resolve();
      gate = Promise.withResolvers();
      return "open";
    },
  };
  process.on("message", (question: Question) => process.send?.(answers[question]()));
  process.on("disconnect", () => process.exit());
  process.send?.({ url } satisfies Ready);
}
