import { type CardInterface, listInterfaces } from "@convoke/client";
import { checkCard, checkSignature, isBadAddress } from "./card-faults.ts";
import { Findings, type OnStep } from "./diagnoses.ts";
import { type FindCardOptions, type FoundCard, findCard } from "./find-card.ts";
import { type Target, promises, toTarget } from "./interface-call.ts";
import { checkBodySize, checkGrpc, checkInterface, checkKeepAlive } from "./interface-faults.ts";
import { checkBrowsers, checkPromises } from "./promise-faults.ts";
import { type DoctorRequestOptions, DoctorRequests } from "./requests.ts";
import { type StreamCheckOptions, checkStream } from "./stream-faults.ts";

export interface ExamineOptions
  extends DoctorRequestOptions, Omit<StreamCheckOptions, "text">, FindCardOptions {
  /** The message for the streaming check; absent to send none. */
  readonly text?: string | undefined;
  /** The origin of a web page that wants to call the agent. */
  readonly origin?: string | undefined;
  /** Requests of this size must get through, in bytes. */
  readonly bodyBytes: number;
  readonly onStep?: OnStep;
}

/** The result of an examination. */
export interface Examination {
  readonly url: string;
  /** "not-examined" if the card could not be read, so that nothing else could be looked at. */
  readonly verdict: "healthy" | "problems" | "not-examined";
  readonly findings: Findings;
}

/** The limits that suit agents on the internet. */
export const DEFAULT_EXAMINATION = {
  timeoutMs: 10_000,
  streamMs: 60_000,
  minSpreadMs: 1000,
  slowCardMs: 2000,
  // Below the limits of all common servers and proxies.
  bodyBytes: 64 * 1024,
} as const;

/** Examines the agent at a URL: its address, its card, its interfaces, and what they promise. */
export async function examineAgent(options: ExamineOptions): Promise<Examination> {
  const { url } = options;
  const findings = new Findings(options.onStep);
  const requests = new DoctorRequests(options);
  const found = await findCard(findings, requests, options);
  if (found === undefined) return { url, verdict: "not-examined", findings };
  checkCard(findings, found);
  await checkSignature(findings, requests, found);
  const target = await checkInterfaces(findings, requests, found);
  if (options.origin !== undefined) {
    await checkBrowsers(findings, requests, { url: found.url, origin: options.origin, target });
  }
  if (target !== undefined) await checkTarget(findings, requests, { found, target, options });
  return { url, verdict: findings.hasProblems ? "problems" : "healthy", findings };
}

/** Calls every interface. Returns the one to examine further: the first that works, preferably JSON-RPC. */
async function checkInterfaces(
  findings: Findings,
  requests: DoctorRequests,
  found: FoundCard,
): Promise<Target | undefined> {
  const working: Target[] = [];
  for (const offer of uniqueGrpc(listInterfaces(found.card))) {
    if (isBadAddress(findings, offer.url)) continue;
    const target = toTarget(found.card, found.url, offer);
    if (offer.binding === "GRPC") {
      await checkGrpc(findings, requests, { cardUrl: found.url, url: offer.url });
    } else if (target === undefined) {
      findings.skip(`${offer.binding} ${offer.version} at ${offer.url}: not known to this program`);
    } else if (await checkInterface(findings, requests, found, target)) working.push(target);
  }
  return working.find(({ binding }) => binding === "JSONRPC") ?? working[0];
}

/** gRPC of both versions is one address. */
function uniqueGrpc(offers: readonly CardInterface[]): readonly CardInterface[] {
  const isRepeated = ({ binding, url }: CardInterface, place: number): boolean =>
    binding === "GRPC" &&
    offers.findIndex((other) => other.binding === binding && other.url === url) < place;
  return offers.filter((offer, place) => !isRepeated(offer, place));
}

interface TargetCheck {
  readonly found: FoundCard;
  readonly target: Target;
  readonly options: ExamineOptions;
}

async function checkTarget(
  findings: Findings,
  requests: DoctorRequests,
  { found, target, options }: TargetCheck,
): Promise<void> {
  if (!(await checkBodySize(findings, requests, target, options.bodyBytes))) return;
  await checkKeepAlive(findings, requests, target);
  await checkPromises(findings, requests, found, target);
  if (!promises(found.card, "streaming")) return;
  const isRest03 = target.binding === "HTTP+JSON" && target.version === "0.3";
  if (options.text === undefined) findings.skip("Streaming: no message is sent (--no-send)");
  else if (isRest03) findings.skip("Streaming: not examined on HTTP+JSON of A2A 0.3");
  else await checkStream(findings, requests, target, { ...options, text: options.text });
}
