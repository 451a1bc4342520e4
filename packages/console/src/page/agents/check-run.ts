import { readEvents } from "../server/event-source.ts";
import { request } from "../server/session.ts";

export interface CheckProgress {
  readonly done: number;
  readonly total: number;
  readonly place: string;
  readonly id: string;
}

/** The result of a probe. */
export interface ProbeResult {
  readonly id: string;
  readonly level: string;
  readonly section: string;
  /** What a conforming server does. */
  readonly says: string;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly sent?: string;
  readonly received?: string;
  readonly expected?: string;
  readonly reason?: string;
}

export interface CheckSection {
  readonly name: string;
  readonly url: string;
  readonly skipped?: string;
  readonly counts: Readonly<Record<ProbeResult["outcome"], number>>;
  readonly results: readonly ProbeResult[];
}

/** What a check has found. */
export interface CheckReport {
  readonly sections: readonly CheckSection[];
  readonly counts: CheckSection["counts"];
  /** The same as JUnit XML. */
  readonly junit: string;
}

interface CheckOptions {
  readonly agent: string;
  /** Which probes to run; empty for all. */
  readonly only: readonly string[];
}

interface CheckObserver {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: CheckProgress) => void;
}

/** Checks an agent with the conformance kit of the server. */
export async function runCheck(
  options: CheckOptions,
  { signal, onProgress }: CheckObserver,
): Promise<CheckReport> {
  const response = await request("/convoke/check", { method: "POST", body: options, signal });
  let report: CheckReport | undefined;
  await readEvents(response, ({ event, data }) => {
    if (event === "probe") onProgress(JSON.parse(data) as CheckProgress);
    if (event === "report") report = JSON.parse(data) as CheckReport;
    if (event === "error") throw new Error(problemIn(data));
  });
  if (report === undefined) throw new Error("The check ended before it was complete.");
  return report;
}

function problemIn(data: string): string {
  return (JSON.parse(data) as { readonly error: { readonly message: string } }).error.message;
}
