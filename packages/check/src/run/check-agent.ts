import { type ProbeResult, type Report, type Section, countOutcomes } from "../output/report.ts";
import { CARD_PROBES } from "../probes/index.ts";
import { type CardProbe, LEVELS, type Level, isSelected, probeId } from "../probes/probe.ts";
import { CardScene, type Cards, fetchCardAs, findCard } from "../scene/card.ts";
import type { CheckSettings } from "../scene/settings.ts";
import { textAt } from "../wire/json.ts";
import { type InterfacePlan, checkInterface, planInterfaces } from "./check-interface.ts";
import { declaredInterfaces } from "./interfaces.ts";
import { type OnPlannedProbe, runProbe } from "./run-probe.ts";

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
