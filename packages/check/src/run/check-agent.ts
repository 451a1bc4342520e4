import {
  type ProbeResult,
  type Report,
  type Section,
  countFailures,
  countOutcomes,
} from "../output/report.ts";
import { CARD_PROBES, GATE, PROBES } from "../probes/index.ts";
import { type CardProbe, type Claim, type Probe, isSelected, probeId } from "../probes/probe.ts";
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
import { type AgentMessages, Scene, SharedFixtures, type Stage } from "../scene/scene.ts";
import { Failed, Skipped, Transcript } from "../wire/exchange.ts";
import { type CardInterface, listInterfaces } from "@convoke/client";
import { type ProtocolVersion, parseVersion } from "@convoke/protocol";
import { type Binding, parseBinding } from "../wire/client.ts";
import { orAborted } from "@convoke/protocol/internal";

/** Runs all probes against an agent: first its card, then every interface that the card declares. */
export async function checkAgent(settings: CheckSettings): Promise<Report> {
  const current = await findCard(settings);
  const plain = await fetchCardAs(settings, current.url, {});
  const cards: Cards = { current, plain };
  const plans = planInterfaces(declaredInterfaces(cards, settings), cards, settings);
  const onProbe = createProgress(plans, settings);
  const sections: Section[] = [await checkCard(cards, settings, onProbe)];
  for (const plan of plans) sections.push(await checkInterface(plan, settings, onProbe));
  const messages = plans.find(({ stage }) => stage !== undefined)?.stage?.messages ?? {};
  return createReport(cards, sections, {
    url: settings.url,
    message: settings.message,
    ...messages,
  });
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
  { url, message, slow, ask }: Pick<CheckSettings, "url" | "message"> & AgentMessages,
): Report {
  const results = sections.flatMap((section) => section.results);
  return {
    url,
    cardUrl: current.url,
    agent: { name: textAt(current.json, "name"), version: textAt(current.json, "version") },
    messages: { message, ...(slow && { slow }), ...(ask && { ask }) },
    sections,
    counts: countOutcomes(results),
    failures: countFailures(results),
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
  const messages = givenMessages(settings);
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
      messages,
      unfinishedTasks: [],
      siblings: stages.filter((other) => isSibling(other, { version, tenant })),
    };
    stages.push(stage);
    return { declared, stage, probes: probesFor(stage) };
  });
}

function givenMessages({ slow, ask }: CheckSettings): AgentMessages {
  return { ...(slow !== undefined && { slow }), ...(ask !== undefined && { ask }) };
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

/** An interface that a card declares. */
interface DeclaredInterface {
  /** Binding, version and tenant, for example `JSONRPC 1.0`. */
  readonly name: string;
  /** As the card has it. */
  readonly url: string;
  readonly tenant: string;
  /** How to call it, or why it is skipped. */
  readonly reach: Reachable | { readonly skipped: string };
}

interface Reachable {
  readonly binding: Binding;
  readonly version: ProtocolVersion;
  readonly address: string;
}

/** Everything that the cards declare, in their order, without duplicates. */
function declaredInterfaces(
  { current, plain }: Cards,
  settings: CheckSettings,
): readonly DeclaredInterface[] {
  const offers = [...listInterfaces(current.json), ...(plain ? listInterfaces(plain.json) : [])];
  const byAddress = new Map<string, DeclaredInterface>();
  for (const offer of offers) {
    const declared = toDeclared(offer, current.url, settings);
    const { name, url, tenant, reach } = declared;
    const address = "address" in reach ? reach.address : url;
    const key = `${name} ${address} ${tenant}`;
    if (!byAddress.has(key)) byAddress.set(key, declared);
  }
  return [...byAddress.values()];
}

function toDeclared(
  offer: CardInterface,
  cardUrl: string,
  settings: CheckSettings,
): DeclaredInterface {
  const { url, binding, version, tenant = "" } = offer;
  const suffix = tenant === "" ? "" : ` for ${tenant}`;
  const name = `${binding || "(no binding)"} ${knownVersion(version) ?? version}${suffix}`;
  return { name, url, tenant, reach: findReach(offer, cardUrl, settings) };
}

function findReach(
  { url, binding: bindingName, version: written }: CardInterface,
  cardUrl: string,
  { allowOrigins, url: given, versions, bindings }: CheckSettings,
): DeclaredInterface["reach"] {
  const binding = parseBinding(bindingName);
  const version = knownVersion(written);
  if (binding === undefined) return { skipped: `the binding "${bindingName}" cannot be checked` };
  if (version === undefined) return { skipped: `version "${written}" is not 0.3 or 1.0` };
  if (versions.length > 0 && !versions.includes(version)) {
    return { skipped: "not selected (option: a2a-version)" };
  }
  if (bindings.length > 0 && !bindings.includes(binding)) {
    return { skipped: "not selected (option: binding)" };
  }
  const address = toAddress(url, binding, cardUrl);
  if (address === undefined) return { skipped: `"${url}" is not an address` };
  const { origin } = new URL(address);
  if (origin !== new URL(given).origin && !allowOrigins.includes(origin)) {
    return { skipped: `${origin} is another origin than that of the card (option: allow-origin)` };
  }
  return { binding, version, address };
}

function knownVersion(written: string): ProtocolVersion | undefined {
  try {
    return parseVersion(written);
  } catch {
    return undefined;
  }
}

/** A gRPC address may be just a host and a port; then it uses TLS if the card did. */
function toAddress(url: string, binding: Binding, cardUrl: string): string | undefined {
  const isBare = binding === "grpc" && !url.includes("://");
  const whole = isBare ? `${new URL(cardUrl).protocol}//${url}` : url;
  if (url === "" || !URL.canParse(whole, cardUrl)) return undefined;
  const address = new URL(whole, cardUrl);
  return /^https?:$/.test(address.protocol) ? address.href : undefined;
}

/** What a probe runs with. */
interface ProbeSession {
  readonly signal: AbortSignal;
  readonly transcript: Transcript;
}

/** A probe for one of its claims. */
interface PlannedProbe {
  readonly probe: { readonly name: string; readonly says: string };
  readonly claim: Claim;
}

/** Called before each probe with the place where it runs. */
type OnPlannedProbe = (place: string, planned: PlannedProbe) => void;

const CHECKER_ERROR = "the checker itself failed, please report this";

/** Runs one probe within its time limit. Throws only if the user stops the check. */
async function runProbe(
  planned: PlannedProbe,
  run: (session: ProbeSession) => Promise<void>,
  { timeoutMs, signal }: CheckSettings,
): Promise<ProbeResult> {
  const started = performance.now();
  const transcript = new Transcript();
  // Whatever a probe leaves open, such as a stream that it stopped reading, is closed after it.
  const over = new AbortController();
  const limit = AbortSignal.timeout(timeoutMs);
  const session = { signal: AbortSignal.any([signal, limit, over.signal]), transcript };
  const result = (outcome: OutcomeFields): ProbeResult => ({
    ...factsOf(planned),
    ...outcome,
    durationMs: Math.round(performance.now() - started),
  });
  try {
    await orAborted(run(session), session.signal);
    return result({ outcome: "passed" });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Skipped) return result({ outcome: "skipped", reason: error.message });
    if (error instanceof Failed) {
      const { sent, received } = error.exchange ?? transcript.last;
      return result({ outcome: "failed", sent, received, expected: error.expected });
    }
    if (!limit.aborted) {
      // A bug of ours is not a fault of the server.
      const message = error instanceof Error ? error.message : String(error);
      return result({ outcome: "skipped", reason: `${CHECKER_ERROR}: ${message}` });
    }
    const { sent, received } = transcript.last;
    const expected = `a complete response within ${timeoutMs / 1000} s`;
    return result({
      outcome: "failed",
      sent,
      received: `${received}, then nothing more`,
      expected,
    });
  } finally {
    over.abort();
  }
}

/** The result of a probe that did not run. */
function skippedResult(planned: PlannedProbe, reason: string): ProbeResult {
  return { ...factsOf(planned), outcome: "skipped", reason, durationMs: 0 };
}

type Facts = Pick<ProbeResult, "id" | "requirement" | "level" | "section" | "says">;

type OutcomeFields = Omit<ProbeResult, keyof Facts | "durationMs">;

function factsOf({ probe, claim }: PlannedProbe): Facts {
  const { requirement, level, section } = claim;
  return { id: probeId(probe, claim), requirement, level, section, says: probe.says };
}
