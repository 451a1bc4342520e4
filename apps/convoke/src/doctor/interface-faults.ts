import { oneLine } from "@convoke/protocol/internal";
import { challengeMatches, requiresCredentials } from "./card-security.ts";
import type { Findings } from "./diagnoses.ts";
import { type FoundCard, redirectTarget } from "./find-card.ts";
import { type Answer, type Target, safeCall, toAnswer } from "./interface-call.ts";
import { type DoctorRequests, type Reply, describeError, networkDiagnosis } from "./requests.ts";

/** Says what is wrong with one interface. Returns whether its answers can be relied upon. */
export async function checkInterface(
  findings: Findings,
  requests: DoctorRequests,
  { card }: FoundCard,
  target: Target,
): Promise<boolean> {
  findings.step(`calling ${target.name}`);
  const reply = await ask(findings, requests, target);
  if (reply === undefined) return false;
  const answer = toAnswer(target, reply);
  switch (answer.kind) {
    case "understood":
      break;
    case "unauthorized":
      checkChallenge(findings, requests, { card, target, reply });
      return false;
    case "redirect":
      diagnoseRedirect(findings, target, reply);
      return false;
    default:
      await diagnoseMismatch(findings, requests, { target, reply, answer });
      return false;
  }
  checkContentType(findings, target, reply);
  const isOpen = requiresCredentials(card) && (await answersAnyone(requests, target));
  if (isOpen) {
    findings.diagnose("auth-not-enforced", target.url, "a request without credentials is answered");
  }
  findings.pass(`${target.name} answers`);
  return true;
}

async function ask(
  findings: Findings,
  requests: DoctorRequests,
  target: Target,
): Promise<Reply | undefined> {
  try {
    return await requests.send(safeCall(target, "getTask"));
  } catch (error) {
    requests.options.signal.throwIfAborted();
    diagnoseUnreachable(findings, target, error);
    return undefined;
  }
}

/** An address that is named by a card and cannot be reached. */
function diagnoseUnreachable(
  findings: Findings,
  { url, name }: Pick<Target, "url" | "name">,
  error: unknown,
): void {
  const id = networkDiagnosis(error);
  if (id === undefined) findings.skip(`${name}: ${describeError(error)}`);
  else if (id.startsWith("tls-") || id === "https-for-http") {
    findings.diagnose(id, url, describeError(error));
  } else findings.diagnose("interface-dead", url, describeError(error));
}

interface Rejected {
  readonly card: FoundCard["card"];
  readonly target: Target;
  readonly reply: Reply;
}

function checkChallenge(
  findings: Findings,
  { options }: DoctorRequests,
  { card, target, reply }: Rejected,
): void {
  const asks = reply.headers["www-authenticate"];
  const seen = `it answered ${reply.status}${asks === undefined ? "" : ` and asks for ${oneLine(asks, 100)}`}`;
  if (!challengeMatches(card, asks)) findings.diagnose("auth-undeclared", target.url, seen);
  else if (Object.keys(options.credentials).length > 0) {
    findings.diagnose("credentials-rejected", target.url, seen);
  } else findings.skip(`${target.name}: it needs credentials (--token, --api-key or --header)`);
}

function diagnoseRedirect(findings: Findings, target: Target, reply: Reply): void {
  const to = redirectTarget(reply, target.url) ?? "nowhere";
  const seen = `it answered ${reply.status} and redirects to ${oneLine(to)}`;
  findings.diagnose("post-redirected", target.url, seen);
}

interface Misunderstood {
  readonly target: Target;
  readonly reply: Reply;
  readonly answer: Answer;
}

/** The other version answers, or nothing does. */
async function diagnoseMismatch(
  findings: Findings,
  requests: DoctorRequests,
  { target, reply, answer }: Misunderstood,
): Promise<void> {
  const version = target.version === "1.0" ? "0.3" : "1.0";
  const other = { ...target, version } as const;
  const retried = await requests.send(safeCall(other, "getTask")).catch(() => undefined);
  requests.options.signal.throwIfAborted();
  if (retried !== undefined && toAnswer(other, retried).kind === "understood") {
    const seen = `the card declares ${target.version}, but the server understands only ${version}`;
    findings.diagnose("version-mismatch", target.url, seen);
    return;
  }
  const type = reply.headers["content-type"] ?? "no content type";
  const what = answer.kind === "unknown-method" ? "the method is unknown" : "that is not A2A";
  const seen = `it answered ${reply.status} (${oneLine(type)}): ${what}`;
  findings.diagnose("interface-dead", target.url, seen);
}

function checkContentType(findings: Findings, { url }: Target, { headers }: Reply): void {
  const { "content-type": type = "" } = headers;
  if (/^application\/(?:[\w.+-]+\+)?json\b/i.test(type)) return;
  findings.diagnose(
    "response-content-type",
    url,
    `its Content-Type is ${oneLine(type) || "absent"}`,
  );
}

/** Whether a caller without credentials is answered. */
async function answersAnyone(requests: DoctorRequests, target: Target): Promise<boolean> {
  const call = { ...safeCall(target, "getTask"), isAnonymous: true };
  const reply = await requests.send(call).catch(() => undefined);
  requests.options.signal.throwIfAborted();
  return reply !== undefined && toAnswer(target, reply).kind === "understood";
}

/** Whether larger requests get through. Returns false if not even small ones would. */
export async function checkBodySize(
  findings: Findings,
  requests: DoctorRequests,
  target: Target,
  bodyBytes: number,
): Promise<boolean> {
  findings.step(`sending ${bodyBytes} bytes to ${target.name}`);
  const size = `a request of ${bodyBytes} bytes`;
  try {
    const reply = await requests.send(safeCall(target, "cancelTask", "x".repeat(bodyBytes)));
    const { kind } = toAnswer(target, reply);
    if (kind === "too-large") findings.diagnose("body-limit", target.url, `${size} got a 413`);
    else if (kind === "redirect") diagnoseRedirect(findings, target, reply);
    else findings.pass(`Requests of ${bodyBytes} bytes get through`);
    return kind !== "redirect";
  } catch (error) {
    requests.options.signal.throwIfAborted();
    findings.diagnose("body-limit", target.url, `${size} failed: ${describeError(error)}`);
    return true;
  }
}

/** Whether a second request on the same connection gets through. */
export async function checkKeepAlive(
  findings: Findings,
  requests: DoctorRequests,
  target: Target,
): Promise<void> {
  findings.step(`calling ${target.name} twice`);
  try {
    const call = safeCall(target, "cancelTask");
    await requests.sendAll([call, call]);
    findings.pass("A connection can be used for several requests");
  } catch (error) {
    requests.options.signal.throwIfAborted();
    const seen = `the second request on a connection failed: ${describeError(error)}`;
    findings.diagnose("keep-alive-reset", target.url, seen);
  }
}

/** Whether gRPC can be spoken at all: it needs HTTP/2. */
export async function checkGrpc(
  findings: Findings,
  requests: DoctorRequests,
  { cardUrl, url }: { readonly cardUrl: string; readonly url: string },
): Promise<void> {
  const { protocol } = new URL(cardUrl);
  const whole = url.includes("://") ? url.replace(/^grpc(s?):/, "http$1:") : `${protocol}//${url}`;
  const name = `GRPC at ${url}`;
  if (!URL.canParse(whole)) {
    findings.diagnose("interface-dead", url, "that is not an address");
    return;
  }
  findings.step(`opening ${name}`);
  try {
    await requests.openHttp2(whole);
    findings.pass(`${name} speaks HTTP/2`);
  } catch (error) {
    requests.options.signal.throwIfAborted();
    const id = networkDiagnosis(error);
    const isSilent = id === "connection-reset" || id === "no-answer" || id === "https-for-http";
    if (isSilent) findings.diagnose("grpc-blocked", url, describeError(error));
    else diagnoseUnreachable(findings, { url, name }, error);
  }
}
