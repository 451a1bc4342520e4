import { orAborted, sleep, timeoutSignal } from "@convoke/protocol/internal";
import {
  type ProbeResult,
  type Results,
  type Section,
  countFailures,
  countOutcomes,
} from "../output/report.ts";
import { ProbeServer } from "../probe-server/probe-server.ts";
import type { ClientResult, Visit } from "../probe-server/visit.ts";
import { probeId } from "../probes/probe.ts";
import type { CheckProgress } from "../scene/settings.ts";
import { Failed, Skipped } from "../wire/exchange.ts";
import {
  type ClientProbeFacts,
  type ClientSelection,
  type PlannedClientProbe,
  planClientProbes,
  probeFacts,
  probeScript,
} from "./client-plan.ts";

/** A probe as it is offered to the client under test. */
export interface OfferedProbe extends ClientProbeFacts {
  /** Its name in URLs, for example `jsonrpc-1.0-version-header`. */
  readonly probe: string;
  readonly cardUrl: string;
}

/** Lets the client under test visit a probe. Rejecting counts as an error of the client. */
export type DriveClient = (probe: OfferedProbe, signal: AbortSignal) => Promise<ClientResult>;

/** How to check a client. */
export interface ClientCheckSettings extends ClientSelection {
  /** The port of the server on 127.0.0.1. Default 0: any free port. */
  readonly port?: number | undefined;
  /** Visits one probe after the other. Without it, clients come by themselves. */
  readonly drive?: DriveClient | undefined;
  /** How many probes are visited at the same time. Default 1. */
  readonly atOnce?: number | undefined;
  /** Time limit of each visit. */
  readonly timeoutMs: number;
  /**
   * Ends the check, and the report has what happened until then. Without `drive`, the check also
   * ends when all probes have been visited.
   */
  readonly signal: AbortSignal;
  /** Called when the server is ready, with the URL of the list of probes. */
  readonly onReady?: ((listUrl: string, probes: readonly OfferedProbe[]) => void) | undefined;
  /** Called before each probe is visited. Only with `drive`. */
  readonly onProbe?: ((progress: CheckProgress) => void) | undefined;
}

/** Starts an agent for each probe, lets a client visit them, and judges what it did. */
export async function checkClient(settings: ClientCheckSettings): Promise<Results> {
  const plan = planClientProbes(settings);
  const server = await ProbeServer.start(plan.map(probeScript), settings.port ?? 0);
  try {
    const offers = plan.map((planned) => ({
      probe: planned.slug,
      cardUrl: server.cardUrl(planned.slug),
      ...probeFacts(planned),
    }));
    settings.onReady?.(server.listUrl, offers);
    if (settings.drive === undefined) await allVisited(plan, server, settings.signal);
    else await driveAll(plan, offers, server, settings);
    return createResults(plan, server);
  } finally {
    await server.close();
  }
}

/** A client that has sent nothing for this long has finished. */
const IDLE_MS = 10_000;
const LOOK_MS = 200;

async function allVisited(
  plan: readonly PlannedClientProbe[],
  server: ProbeServer,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && !plan.every(({ slug }) => server.visit(slug).isOver(IDLE_MS))) {
    await sleep(LOOK_MS, signal).catch(() => undefined);
  }
}

async function driveAll(
  plan: readonly PlannedClientProbe[],
  offers: readonly OfferedProbe[],
  server: ProbeServer,
  settings: ClientCheckSettings,
): Promise<void> {
  const left = [...plan.entries()];
  const driveNext = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      if (settings.signal.aborted) return;
      const [place, planned] = next;
      const offer = offers[place];
      if (offer === undefined) return;
      settings.onProbe?.({
        done: place,
        total: plan.length,
        place: sectionName(planned),
        id: probeId(planned.probe, planned.claim),
      });
      await driveOne(offer, server.visit(planned.slug), settings);
    }
  };
  await Promise.all(Array.from({ length: settings.atOnce ?? 1 }, driveNext));
}

async function driveOne(
  offer: OfferedProbe,
  visit: Visit,
  { drive, timeoutMs, signal }: ClientCheckSettings,
): Promise<void> {
  const limit = timeoutSignal(timeoutMs);
  const both = AbortSignal.any([signal, limit]);
  try {
    const result = await orAborted(drive!(offer, both), both);
    visit.finish(result);
  } catch (error) {
    if (signal.aborted) return;
    const message = error instanceof Error ? error.message : String(error);
    visit.finish(
      limit.aborted ? { kind: "timeout", afterMs: timeoutMs } : { kind: "error", error: message },
    );
  }
}

const CARD_NAMES = { jsonrpc: "JSONRPC", rest: "HTTP+JSON", grpc: "GRPC" } as const;

function sectionName({ speaking: { binding, version } }: PlannedClientProbe): string {
  return `${CARD_NAMES[binding]} ${version}`;
}

function createResults(plan: readonly PlannedClientProbe[], server: ProbeServer): Results {
  const sections = [...Map.groupBy(plan, sectionName)].map(([name, probes]): Section => {
    const results = probes.map((planned) => judge(planned, server.visit(planned.slug)));
    const [first] = probes;
    return {
      kind: "interface",
      name,
      url: server.listUrl,
      ...first?.speaking,
      counts: countOutcomes(results),
      results,
    };
  });
  const results = sections.flatMap((section) => section.results);
  return {
    url: server.listUrl,
    sections,
    counts: countOutcomes(results),
    failures: countFailures(results),
  };
}

function judge({ probe, claim, speaking }: PlannedClientProbe, visit: Visit): ProbeResult {
  const { requirement, level, section } = claim;
  const facts = {
    id: probeId(probe, claim),
    requirement,
    level,
    section,
    says: probe.says,
    durationMs: visit.durationMs,
  };
  const skipped = (reason: string): ProbeResult => ({ ...facts, outcome: "skipped", reason });
  if (!visit.isVisited) return skipped("not visited");
  if (visit.result?.kind === "unsupported") {
    return skipped(`the client does not support this: ${visit.result.reason}`);
  }
  try {
    probe.judge(visit, speaking);
    return { ...facts, outcome: "passed" };
  } catch (error) {
    if (error instanceof Skipped) return skipped(error.message);
    if (!(error instanceof Failed)) throw error;
    return { ...facts, outcome: "failed", ...error.exchange, expected: error.expected };
  }
}
