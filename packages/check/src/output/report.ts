import type { ProtocolVersion } from "@convoke/protocol";
import type { Level } from "../probes/probe.ts";
import type { Binding } from "../wire/client.ts";

export type Outcome = "passed" | "failed" | "skipped";

/** The result of one probe. Programs rely on these field names. */
export interface ProbeResult {
  readonly id: string;
  readonly requirement: string;
  readonly level: Level;
  readonly section: string;
  /** What a conforming server does. */
  readonly says: string;
  readonly outcome: Outcome;
  /** Only if it failed. */
  readonly sent?: string;
  readonly received?: string;
  readonly expected?: string;
  /** Why it was skipped. `(option: x)` names the setting that would help. */
  readonly reason?: string;
  readonly durationMs: number;
}

/** The results of one interface, or of the card. */
export interface Section {
  readonly kind: "card" | "interface";
  /** For example `JSONRPC 1.0`. */
  readonly name: string;
  readonly url: string;
  readonly tenant?: string;
  readonly binding?: Binding;
  readonly version?: ProtocolVersion;
  /** Why the whole interface was skipped. */
  readonly skipped?: string;
  readonly counts: Readonly<Record<Outcome, number>>;
  readonly results: readonly ProbeResult[];
}

/** The results of a whole check. */
export interface Report {
  readonly url: string;
  readonly cardUrl: string;
  readonly agent: { readonly name: string; readonly version: string };
  readonly sections: readonly Section[];
  readonly counts: Readonly<Record<Outcome, number>>;
  /** The number of failures at each level. */
  readonly failures: Readonly<Record<Level, number>>;
}

export function countOutcomes(results: readonly ProbeResult[]): Readonly<Record<Outcome, number>> {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { outcome } of results) counts[outcome] += 1;
  return counts;
}
