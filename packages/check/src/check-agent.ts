import type { Claim } from "./claim.ts";
import { cardProbes, checkCard } from "./check-card.ts";
import { type InterfacePlan, checkInterface, planInterfaces } from "./check-interface.ts";
import { declaredInterfaces } from "./interfaces.ts";
import { LEVELS, type Level } from "./level.ts";
import { idOf } from "./probe.ts";
import { cardFor, findCard } from "./read-card.ts";
import { type Report, type Section, countOf } from "./report.ts";
import type { Cards } from "./scene/card-scene.ts";
import type { CheckSettings } from "./settings.ts";
import { textAt } from "./wire/json.ts";

/** Tries everything at an agent and tells what came of it. */
export async function checkAgent(settings: CheckSettings): Promise<Report> {
  const current = await findCard(settings);
  const plain = await cardFor(settings, current.url, {});
  const cards: Cards = { current, plain };
  const plans = planInterfaces(declaredInterfaces(cards, settings), cards, settings);
  const progress = progressOf(plans, settings);
  const sections: Section[] = [await checkCard(cards, settings, progress)];
  for (const plan of plans) sections.push(await checkInterface(plan, settings, progress));
  return reportOf(cards, sections, settings);
}

/** Says where we are before each probe. */
function progressOf(plans: readonly InterfacePlan[], settings: CheckSettings) {
  const first = cardProbes(settings).length;
  const total = plans.reduce((sum, { probes }) => sum + probes.length, first);
  let done = 0;
  return (place: string, probe: { name: string; says: string }, claim: Claim): void => {
    settings.onProbe?.({ done, total, place, id: idOf(probe, claim) });
    done += 1;
  };
}

function reportOf(
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
    counts: countOf(results),
    failures: Object.fromEntries(
      LEVELS.map((level) => [level, failuresAt(level)]),
    ) as Report["failures"],
  };
}
