import type { ProtocolVersion } from "@convoke/protocol";
import type { Level } from "./level.ts";
import type { Binding } from "./wire/binding.ts";

export type Outcome = "passed" | "failed" | "skipped";

/** What came of one probe. The names are a promise to programs. */
export interface ProbeResult {
  readonly id: string;
  readonly requirement: string;
  readonly level: Level;
  readonly section: string;
  /** What a good server does. */
  readonly says: string;
  readonly outcome: Outcome;
  /** Of what failed. */
  readonly sent?: string;
  readonly received?: string;
  readonly expected?: string;
  /** Why it was not tested. */
  readonly reason?: string;
  readonly durationMs: number;
}

/** The results at one interface, or at the card. */
export interface Section {
  readonly kind: "card" | "interface";
  /** Such as `JSONRPC 1.0`. */
  readonly name: string;
  readonly url: string;
  readonly tenant?: string;
  readonly binding?: Binding;
  readonly version?: ProtocolVersion;
  /** Why nothing was tried here. */
  readonly skipped?: string;
  readonly counts: Readonly<Record<Outcome, number>>;
  readonly results: readonly ProbeResult[];
}

export interface Report {
  readonly url: string;
  readonly cardUrl: string;
  readonly agent: { readonly name: string; readonly version: string };
  readonly sections: readonly Section[];
  readonly counts: Readonly<Record<Outcome, number>>;
  /** How many failed at each level. */
  readonly failures: Readonly<Record<Level, number>>;
}

/** How many of each. */
export function countOf(results: readonly ProbeResult[]): Readonly<Record<Outcome, number>> {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { outcome } of results) counts[outcome] += 1;
  return counts;
}
