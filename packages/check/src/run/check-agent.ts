import { type ProbeResult, type Report, type Section, countOutcomes } from "../output/report.ts";
import { CARD_PROBES, GATE, PROBES } from "../probes/index.ts";
import {
  type CardProbe,
  type Claim,
  LEVELS,
  type Level,
  type Probe,
  isSelected,
  probeId,
} from "../probes/probe.ts";
import {
  CardScene,
  CardView,
  type Cards,
  cardForVersion,
  fetchCardAs,
  findCard,
  requiredExtensionHeaders,
} from "../scene/card.ts";
import type { CheckSettings } from "../scene/settings.ts";
import { textAt } from "../wire/json.ts";
import { type DeclaredInterface, declaredInterfaces } from "./interfaces.ts";
import { type OnPlannedProbe, runProbe, skippedResult } from "./run-probe.ts";
import { Scene, SharedFixtures, type Stage } from "../scene/scene.ts";
import { Transcript } from "../wire/exchange.ts";

/** Runs all probes against an agent: first its card, then every interface that the card declares. */
export async function checkAgent(settings: CheckSettings): Promise<Report> {
  const current = await findCard(settings);
  const plain = await fetchCardAs(settings, current.url, {});
  const cards: Cards = { current, plain };
  const plans = planInterfaces(declaredInterfaces(cards, settings), cards, settings);
  const onProbe = createProgress(plans, settings);
  const sections: Section[] = [await checkCard(cards, settings, onProbe)];
  for (const plan of plans) sections.push(await checkInterface(plan, settings, onProbe));
  return createReport(cards, sections, settings);
}

const CARD_SECTION = "Agent card";

async function checkCard(
  cards: Cards,
  settings: CheckSettings,
  onProbe: OnPlannedProbe,
): Promise<Section> {
  const results: ProbeResult[] = [];
  for (const probe of selectedCardProbes(settings)) {
    const planned = { probe, claim: probe.claim };
    onProbe(CARD_SECTION, planned);
    results.push(
      await runProbe(
        planned,
        (session) => probe.run(new CardScene(cards, settings, session)),
        settings,
      ),
    );
  }
  const { url } = cards.current;
  return { kind: "card", name: CARD_SECTION, url, counts: countOutcomes(results), results };
}

function selectedCardProbes({ only, versions }: CheckSettings): readonly CardProbe[] {
  return CARD_PROBES.filter((probe) => {
    const hasVersion = versions.length === 0 || versions.includes(probe.claim.version);
    return hasVersion && isSelected(probe, probe.claim, only);
  });
}

/** Counts the probes for `settings.onProbe`. */
function createProgress(plans: readonly InterfacePlan[], settings: CheckSettings): OnPlannedProbe {
  const first = selectedCardProbes(settings).length;
  const total = plans.reduce((sum, { probes }) => sum + probes.length, first);
  let done = 0;
  return (place, { probe, claim }) => {
    settings.onProbe?.({ done, total, place, id: probeId(probe, claim) });
    done += 1;
  };
}

function createReport(
  { current }: Cards,
  sections: readonly Section[],
  { url }: CheckSettings,
): Report {
  const results = sections.flatMap((section) => section.results);
  const failed = results.filter(({ outcome }) => outcome === "failed");
  const failuresAt = (level: Level) => failed.filter((result) => result.level === level).length;
  return {
    url,
    cardUrl: current.url,
    agent: { name: textAt(current.json, "name"), version: textAt(current.json, "version") },
    sections,
    counts: countOutcomes(results),
    failures: Object.fromEntries(
      LEVELS.map((level) => [level, failuresAt(level)]),
    ) as Report["failures"],
  };
}

interface InterfaceProbe {
  readonly probe: Probe;
  readonly claim: Claim;
}

/** An interface and the probes to run there: none if the interface is skipped. */
interface InterfacePlan {
  readonly declared: DeclaredInterface;
  readonly stage: Stage | undefined;
  readonly probes: readonly InterfaceProbe[];
}

/** Decides which probes run at each interface. */
function planInterfaces(
  interfaces: readonly DeclaredInterface[],
  cards: Cards,
  settings: CheckSettings,
): readonly InterfacePlan[] {
  const stages: Stage[] = [];
  return interfaces.map((declared) => {
    const { reach, tenant } = declared;
    if ("skipped" in reach) return { declared, stage: undefined, probes: [] };
    const { binding, version, address } = reach;
    const card = new CardView((cardForVersion(cards, version) ?? cards.current).json);
    const headers = { ...settings.credentials, ...requiredExtensionHeaders(card, version) };
    const stage: Stage = {
      target: { binding, version, url: address, tenant, headers },
      card,
      settings,
      shared: new SharedFixtures(),
      unfinishedTasks: [],
      siblings: stages.filter((other) => isSibling(other, { version, tenant })),
    };
    stages.push(stage);
    return { declared, stage, probes: probesFor(stage) };
  });
}

/** Runs all probes of one interface. If the gate probe does not pass, most others are skipped. */
async function checkInterface(
  { declared, stage, probes }: InterfacePlan,
  settings: CheckSettings,
  onProbe: OnPlannedProbe,
): Promise<Section> {
  const { name, url, tenant, reach } = declared;
  const facts = { kind: "interface", name, url, ...(tenant !== "" && { tenant }) } as const;
  if (stage === undefined || "skipped" in reach) {
    const skipped = "skipped" in reach ? reach.skipped : "no probe was selected";
    return { ...facts, skipped, counts: countOutcomes([]), results: [] };
  }
  const results: ProbeResult[] = [];
  let blocked: string | undefined;
  for (const planned of probes) {
    onProbe(name, planned);
    const { probe } = planned;
    const result =
      blocked === undefined || probe.needsNoGate === true
        ? await runProbe(planned, (session) => probe.run(new Scene(stage, session)), settings)
        : skippedResult(planned, blocked);
    if (probe === GATE && result.outcome !== "passed") {
      blocked = result.reason ?? `the interface does not work: see ${result.id}`;
    }
    results.push(result);
  }
  await cancelUnfinished(stage);
  const { binding, version } = reach;
  return { ...facts, binding, version, counts: countOutcomes(results), results };
}

/** The gate probe always runs, even if not selected: the other probes depend on it. */
function probesFor({ target, settings }: Stage): readonly InterfaceProbe[] {
  const { binding, version } = target;
  return [GATE, ...PROBES]
    .filter(({ bindings }) => bindings === undefined || bindings.includes(binding))
    .flatMap((probe) => probe.claims.map((claim) => ({ probe, claim })))
    .filter(({ claim }) => claim.version === version)
    .filter(({ probe, claim }) => probe === GATE || isSelected(probe, claim, settings.only));
}

function isSibling({ target }: Stage, { version, tenant }: { version: string; tenant: string }) {
  return target.version === version && target.tenant === tenant;
}

/** Cancels the tasks that probes left unfinished, as far as the server allows. */
async function cancelUnfinished(stage: Stage): Promise<void> {
  const { signal, timeoutMs } = stage.settings;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const scene = new Scene(stage, { signal: limit, transcript: new Transcript() });
  for (const taskId of new Set(stage.unfinishedTasks)) {
    try {
      await scene.call("cancelTask", scene.requests.cancel(taskId));
    } catch {
      // Best effort: cleaning up is not part of the check.
    }
    if (limit.aborted) return;
  }
}
