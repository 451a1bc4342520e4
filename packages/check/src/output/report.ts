import type { ProtocolVersion } from "@convoke/protocol";
import { LEVELS, type Level } from "../probes/probe.ts";
import type { Binding } from "../wire/client.ts";
import { printable } from "@convoke/protocol/internal";

export type Outcome = "passed" | "failed" | "skipped";

/** The result of one probe. Programs rely on these field names. */
export interface ProbeResult {
  readonly id: string;
  readonly requirement: string;
  readonly level: Level;
  readonly section: string;
  /** What a conforming server or client does. */
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

/** The results of a whole check, of a server or of a client. */
export interface Results {
  /** The agent, or the list of probes that the client visited. */
  readonly url: string;
  readonly sections: readonly Section[];
  readonly counts: Readonly<Record<Outcome, number>>;
  /** The number of failures at each level. */
  readonly failures: Readonly<Record<Level, number>>;
}

/** The results of the check of a server. */
export interface Report extends Results {
  readonly cardUrl: string;
  readonly agent: { readonly name: string; readonly version: string };
  /** The messages that were used: given ones, or examples of the card that had the effect. */
  readonly messages: { readonly message: string; readonly slow?: string; readonly ask?: string };
}

export function countOutcomes(results: readonly ProbeResult[]): Readonly<Record<Outcome, number>> {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { outcome } of results) counts[outcome] += 1;
  return counts;
}

export function countFailures(results: readonly ProbeResult[]): Results["failures"] {
  const failed = results.filter(({ outcome }) => outcome === "failed");
  const failuresAt = (level: Level) => failed.filter((result) => result.level === level).length;
  return Object.fromEntries(
    LEVELS.map((level) => [level, failuresAt(level)]),
  ) as Results["failures"];
}

/** The report as JUnit XML, one testsuite for the card and one for each interface. */
export function junitReport({ url, sections, counts }: Results): string {
  const { passed, failed, skipped } = counts;
  const numbers = { tests: passed + failed + skipped, failures: failed, skipped };
  const name = `convoke check ${url}`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${attributes({ name, ...numbers })}>`,
    ...sections.map(testsuite),
    "</testsuites>",
    "",
  ].join("\n");
}

function testsuite({ name, url, counts, skipped, results }: Section): string {
  const { passed, failed } = counts;
  const suite = attributes({
    name: `${name} at ${url}`,
    tests: passed + failed + counts.skipped,
    failures: failed,
    skipped: counts.skipped,
    time: seconds(results.reduce((sum, { durationMs }) => sum + durationMs, 0)),
  });
  const said = skipped === undefined ? [] : [`<system-out>${escaped(skipped)}</system-out>`];
  return [
    `<testsuite ${suite}>`,
    ...results.map((each) => testcase(name, each)),
    ...said,
    "</testsuite>",
  ].join("\n");
}

function testcase(classname: string, result: ProbeResult): string {
  const { id, says, level, section, outcome, durationMs } = result;
  const start = `<testcase ${attributes({ classname, name: `${id} ${says}`, time: seconds(durationMs) })}`;
  if (outcome === "passed") return `${start}/>`;
  if (outcome === "skipped") {
    return `${start}><skipped ${attributes({ message: result.reason ?? "" })}/></testcase>`;
  }
  const { sent = "", received = "", expected = "" } = result;
  const text = `${section}\nsent: ${sent}\nreceived: ${received}\nexpected: ${expected}`;
  const failure = attributes({ type: level, message: `expected ${expected}` });
  return `${start}><failure ${failure}>${escaped(text)}</failure></testcase>`;
}

function seconds(durationMs: number): string {
  return (durationMs / 1000).toFixed(3);
}

function attributes(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${escaped(String(value))}"`)
    .join(" ");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
  "\n": "&#10;",
};

/** Text that may stand anywhere in XML: without what XML cannot say at all, even escaped. */
function escaped(text: string): string {
  const sayable = printable(text)
    .toWellFormed()
    .replaceAll(/[\uFFFE\uFFFF]/g, "");
  return sayable.replaceAll(/[&<>"'\n]/g, (character) => ENTITIES[character] ?? character);
}
