import { type ProbeResult, type Section, countOutcomes } from "../output/report.ts";
import { GATE, PROBES } from "../probes/index.ts";
import { type Claim, type Probe, isSelected } from "../probes/probe.ts";
import { CardView, type Cards, cardForVersion, requiredExtensionHeaders } from "../scene/card.ts";
import { Scene, SharedFixtures, type Stage } from "../scene/scene.ts";
import type { CheckSettings } from "../scene/settings.ts";
import { Transcript } from "../wire/exchange.ts";
import type { DeclaredInterface } from "./interfaces.ts";
import { type OnPlannedProbe, runProbe, skippedResult } from "./run-probe.ts";

interface InterfaceProbe {
  readonly probe: Probe;
  readonly claim: Claim;
}

/** An interface and the probes to run there: none if the interface is skipped. */
export interface InterfacePlan {
  readonly declared: DeclaredInterface;
  readonly stage: Stage | undefined;
  readonly probes: readonly InterfaceProbe[];
}

/** Decides which probes run at each interface. */
export function planInterfaces(
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
export async function checkInterface(
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
