import {
  type ClientCheckSettings,
  type DriveClient,
  type Results,
  checkClient,
  markdownReport,
} from "@convoke/check";
import { ourClient } from "./our-client.ts";
import { sdkV03, sdkV1 } from "./sdk-clients.ts";

/** A page of docs/check with the report on one client. */
export interface ReportPage {
  readonly file: string;
  readonly title: string;
  /** What was checked, in a sentence or two. */
  readonly about: string;
  readonly drive: DriveClient;
  readonly versions: ClientCheckSettings["versions"];
}

const DRIVEN = "It is driven by `test/client-check/sdk-clients.ts` as its documentation says.";

export const REPORT_PAGES: readonly ReportPage[] = [
  {
    file: "client-convoke.md",
    title: "Convoke as a client",
    about: "Our own client, driven by `test/client-check/our-client.ts`.",
    drive: ourClient(),
    versions: [],
  },
  {
    file: "client-sdk-1.3.0.md",
    title: "@a2a-js/sdk 1.3.0 as a client",
    about: `The client of the official SDK for 1.0, without its layer for 0.3. ${DRIVEN}`,
    drive: sdkV1,
    versions: ["1.0"],
  },
  {
    file: "client-sdk-0.3.14.md",
    title: "@a2a-js/sdk 0.3.14 as a client",
    about:
      `The client of the last official SDK for 0.3. ${DRIVEN} It loses \`append\` over REST and ` +
      "gRPC; in all probes but two its user is assumed to know that.",
    drive: sdkV03,
    versions: ["0.3"],
  },
];

/** Long enough for the slowest probe, which takes three seconds, also on a busy machine. */
const TIMEOUT_MS = 20_000;

export async function checkForPage({ drive, versions }: ReportPage): Promise<Results> {
  return checkClient({
    drive,
    versions,
    bindings: [],
    only: [],
    atOnce: 8,
    timeoutMs: TIMEOUT_MS,
    signal: new AbortController().signal,
  });
}

/** The page. Ports, ids and lengths are replaced: a second run changes nothing unless something has changed. */
export function reportPage({ title, about }: ReportPage, results: Results): string {
  const { passed, failed, skipped } = results.counts;
  const report = markdownReport(results)
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:30000")
    .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, "<id>")
    .replaceAll(/[\da-f]{8}(-[\da-f]{1,4}){0,3}…/g, "…");
  return `# ${title}

<!-- Written by scripts/client-reports.ts (npm run check:clients). Do not edit this page by hand. -->

${about} The report of \`convoke check --client\`: ${passed} passed, ${failed} failed, ${skipped} not tested.

${report}`;
}
