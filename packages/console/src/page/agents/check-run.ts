import type { SseEvent } from "@convoke/protocol";
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

export interface CheckReport {
  readonly url: string;
  readonly sections: readonly CheckSection[];
  readonly counts: CheckSection["counts"];
}

/** What a check has found, and the same as JUnit XML. */
export interface Checked {
  readonly report: CheckReport;
  readonly junit: string;
}

/** Checks an agent with the conformance kit of the server. */
export async function runCheck(
  options: { readonly agent: string; readonly cardOnly: boolean },
  {
    signal,
    onProgress,
  }: { readonly signal: AbortSignal; readonly onProgress: (progress: CheckProgress) => void },
): Promise<Checked> {
  const response = await request("/convoke/check", { method: "POST", body: options, signal });
  let checked: Checked | undefined;
  await readEvents(response, ({ event, data }: SseEvent) => {
    if (event === "probe") onProgress(JSON.parse(data) as CheckProgress);
    if (event === "report") checked = JSON.parse(data) as Checked;
    if (event === "problem") throw new Error((JSON.parse(data) as { message: string }).message);
  });
  if (checked === undefined) throw new Error("The check ended before it was complete.");
  return checked;
}
