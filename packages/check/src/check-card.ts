import type { Claim } from "./claim.ts";
import { type CardProbe, idOf } from "./probe.ts";
import { CARD_PROBES } from "./probes.ts";
import { type ProbeResult, type Section, countOf } from "./report.ts";
import { runProbe } from "./run-probe.ts";
import { CardScene, type Cards } from "./scene/card-scene.ts";
import { isChosen } from "./selection.ts";
import type { CheckSettings } from "./settings.ts";

export type Progress = (place: string, probe: { name: string; says: string }, claim: Claim) => void;

const NAME = "Agent card";

/** Tries everything at the card. */
export async function checkCard(
  cards: Cards,
  settings: CheckSettings,
  progress: Progress,
): Promise<Section> {
  const results: ProbeResult[] = [];
  for (const probe of cardProbes(settings)) {
    progress(NAME, probe, probe.claim);
    const run = (attempt: ConstructorParameters<typeof CardScene>[2]) =>
      probe.run(new CardScene(cards, settings, attempt));
    const { says, claim } = probe;
    results.push(await runProbe({ id: idOf(probe, claim), says, claim, run }, settings));
  }
  return { kind: "card", name: NAME, url: cards.current.url, counts: countOf(results), results };
}

/** What was asked for of all that can be tried at a card. */
export function cardProbes({ only, versions }: CheckSettings): readonly CardProbe[] {
  return CARD_PROBES.filter((probe) => {
    const isOfVersion = versions.length === 0 || versions.includes(probe.claim.version);
    return isOfVersion && isChosen(probe, probe.claim, only);
  });
}
