import type { Claim } from "./claim.ts";
import type { Progress } from "./check-card.ts";
import type { DeclaredInterface } from "./interfaces.ts";
import { type Probe, idOf } from "./probe.ts";
import { GATE, PROBES } from "./probes.ts";
import { type ProbeResult, type Section, countOf } from "./report.ts";
import { runProbe } from "./run-probe.ts";
import { type Cards, cardOfForm } from "./scene/card-scene.ts";
import { CardView } from "./scene/card-view.ts";
import { Once } from "./scene/once.ts";
import { Scene, type Stage } from "./scene/scene.ts";
import { isChosen } from "./selection.ts";
import type { CheckSettings } from "./settings.ts";
import { extensionHeaders } from "./wire/extension-headers.ts";
import { Transcript } from "./wire/transcript.ts";

interface PlannedProbe {
  readonly probe: Probe;
  readonly claim: Claim;
}

/** An interface and what will be tried there; nothing where there is no stage. */
export interface InterfacePlan {
  readonly declared: DeclaredInterface;
  readonly stage: Stage | undefined;
  readonly probes: readonly PlannedProbe[];
}

/** What will be tried at each interface. */
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
    const card = new CardView((cardOfForm(cards, version) ?? cards.current).json);
    const headers = { ...settings.credentials, ...extensionHeaders(card, version) };
    const target = { binding, version, url: address, tenant, headers };
    const siblings = stages.filter((other) => isSibling(other, { version, tenant }));
    const stage = { target, card, settings, once: new Once(), leftovers: [], siblings };
    stages.push(stage);
    return { declared, stage, probes: probesFor(stage) };
  });
}

/** Tries everything at one interface. Where even the first does not succeed, nothing else can. */
export async function checkInterface(
  { declared, stage, probes }: InterfacePlan,
  settings: CheckSettings,
  progress: Progress,
): Promise<Section> {
  const { name, url, tenant, reach } = declared;
  const facts = { kind: "interface", name, url, ...(tenant !== "" && { tenant }) } as const;
  if (stage === undefined || "skipped" in reach) {
    const skipped = "skipped" in reach ? reach.skipped : "nothing was asked for here";
    return { ...facts, skipped, counts: countOf([]), results: [] };
  }
  const results: ProbeResult[] = [];
  let closed: string | undefined;
  for (const { probe, claim } of probes) {
    progress(name, probe, claim);
    const result = await tried(stage, { probe, claim }, closed);
    if (probe === GATE && result.outcome !== "passed") {
      closed = result.reason ?? `the interface does not work: see ${result.id}`;
    }
    results.push(result);
  }
  await cancelLeftovers(stage);
  const { binding, version } = reach;
  return { ...facts, binding, version, counts: countOf(results), results };
}

async function tried(
  stage: Stage,
  { probe, claim }: PlannedProbe,
  closed: string | undefined,
): Promise<ProbeResult> {
  const { says } = probe;
  const id = idOf(probe, claim);
  if (closed === undefined || probe.needsNoGate === true) {
    const run = (attempt: ConstructorParameters<typeof Scene>[1]) =>
      probe.run(new Scene(stage, attempt));
    return runProbe({ id, says, claim, run }, stage.settings);
  }
  const { requirement, level, section } = claim;
  return {
    id,
    requirement,
    level,
    section,
    says,
    outcome: "skipped",
    reason: closed,
    durationMs: 0,
  };
}

/** The gate is tried whatever was asked for, since it says whether anything can be. */
function probesFor({ target, settings }: Stage): readonly PlannedProbe[] {
  const { binding, version } = target;
  return [GATE, ...PROBES]
    .filter(({ bindings }) => bindings === undefined || bindings.includes(binding))
    .flatMap((probe) => probe.claims.map((claim) => ({ probe, claim })))
    .filter(({ claim }) => claim.version === version)
    .filter(({ probe, claim }) => probe === GATE || isChosen(probe, claim, settings.only));
}

function isSibling({ target }: Stage, { version, tenant }: { version: string; tenant: string }) {
  return target.version === version && target.tenant === tenant;
}

/** Cancels what probes left unfinished: nobody will answer those questions. What fails is left. */
async function cancelLeftovers(stage: Stage): Promise<void> {
  const { signal, timeoutMs } = stage.settings;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const scene = new Scene(stage, { signal: limit, transcript: new Transcript() });
  for (const taskId of new Set(stage.leftovers)) {
    try {
      await scene.call("cancelTask", scene.requests.cancel(taskId));
    } catch {
      // It has been tried, and what became of it is no matter of the check.
    }
    if (limit.aborted) return;
  }
}
