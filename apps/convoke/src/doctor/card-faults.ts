import { discover, listInterfaces } from "@convoke/client";
import { createEgress } from "@convoke/egress";
import { ClientError } from "@convoke/protocol";
import { isLoopbackHost, isObject, oneLine } from "@convoke/protocol/internal";
import { listField, textField } from "../terminal/json-fields.ts";
import type { Findings } from "./diagnoses.ts";
import type { FoundCard } from "./find-card.ts";
import type { DoctorRequests } from "./requests.ts";

/** Says what is wrong with the content of a card. */
export function checkCard(findings: Findings, found: FoundCard): void {
  const missing = missingFields(found.card);
  if (missing.length > 0) {
    findings.diagnose("card-missing-fields", found.url, `missing: ${missing.join(", ")}`);
  } else findings.pass("The card has all required fields");
  const ids = listField(found.card, "skills").map((skill) => textField(skill, "id"));
  const twice = [...new Set(ids.filter((id, place) => id !== "" && ids.indexOf(id) !== place))];
  if (twice.length > 0) {
    const seen = `several skills have the id ${oneLine(twice.join(", "))}`;
    findings.diagnose("card-duplicate-skills", found.url, seen);
  }
  for (const { url } of listInterfaces(found.card)) checkAddress(findings, found.url, url);
}

const FIELDS = ["name", "description", "version"];

const LISTS = ["defaultInputModes", "defaultOutputModes", "skills"];

const SKILL_FIELDS = ["id", "name", "description"];

/** The required fields that are absent: those that both versions have, and an interface of either. */
function missingFields(card: FoundCard["card"]): readonly string[] {
  const hasInterface = listInterfaces(card).some(({ url }) => url !== "");
  const skills = listField(card, "skills").flatMap((skill, place) => [
    ...SKILL_FIELDS.filter((name) => textField(skill, name) === "").map(
      (name) => `skills[${place}].${name}`,
    ),
    ...(isObject(skill) && Array.isArray(skill["tags"]) ? [] : [`skills[${place}].tags`]),
  ]);
  return [
    ...FIELDS.filter((name) => textField(card, name) === ""),
    ...(isObject(card["capabilities"]) ? [] : ["capabilities"]),
    ...LISTS.filter((name) => !Array.isArray(card[name])),
    ...(hasInterface ? [] : ["supportedInterfaces"]),
    ...skills,
  ];
}

function checkAddress(findings: Findings, cardUrl: string, url: string): void {
  const card = new URL(cardUrl);
  const target = toUrl(url, cardUrl);
  if (target === undefined) return;
  const seen = `the card at ${cardUrl} leads to ${oneLine(url)}`;
  if (isLocalElsewhere(target, card)) findings.diagnose("card-local-address", url, seen);
  else if (isPublic(card) && !isPublic(target)) {
    findings.diagnose("card-private-address", url, seen);
  } else if (card.protocol === "https:" && isPlainTwin(target, card)) {
    findings.diagnose("card-http-interface", url, seen);
  }
}

/** The address of an interface; for gRPC it may be just a host and a port. */
function toUrl(text: string, cardUrl: string): URL | undefined {
  const isWhole = text.includes("://") || text.startsWith("/");
  const whole = isWhole ? text : `${new URL(cardUrl).protocol}//${text}`;
  return URL.canParse(whole, cardUrl) ? new URL(whole, cardUrl) : undefined;
}

/** Addresses to listen on, not to connect to. */
const UNSPECIFIED = ["0.0.0.0", "[::]"];

function isLocalElsewhere({ hostname }: URL, card: URL): boolean {
  if (UNSPECIFIED.includes(hostname)) return true;
  return isLoopbackHost(hostname) && !isLoopbackHost(card.hostname);
}

/** Whether the policy for untrusted addresses would let a request pass, as far as that is known without DNS. */
function isPublic({ href, hostname }: URL): boolean {
  if (isLoopbackHost(hostname)) return false;
  const egress = createEgress();
  try {
    egress.check(href.replace(/^grpcs?:/, "https:"));
    return true;
  } catch {
    return false;
  } finally {
    egress.close();
  }
}

function isPlainTwin({ protocol, hostname }: URL, card: URL): boolean {
  return /^(?:http|grpc):$/.test(protocol) && hostname === card.hostname;
}

/** Whether a diagnosis about the address of an interface says enough, so that calling it adds nothing. */
export function isBadAddress({ diagnoses }: Findings, url: string): boolean {
  return diagnoses.some(
    ({ id, where }) =>
      where === url && (id === "card-local-address" || id === "card-private-address"),
  );
}

/** Verifies the signatures of the card, if it has any, as the client does. */
export async function checkSignature(
  findings: Findings,
  { options }: DoctorRequests,
  { card, url }: FoundCard,
): Promise<void> {
  if (listField(card, "signatures").length === 0) return;
  findings.step("verifying the signature of the card");
  const { credentials, signal, timeoutMs, allow } = options;
  const isOwn = new URL(url).origin === new URL(options.url).origin;
  try {
    const { signature } = await discover(url, {
      cache: false,
      signal,
      timeoutMs,
      allow,
      ...(isOwn && Object.keys(credentials).length > 0 && { auth: { headers: credentials } }),
    });
    if (signature?.kind === "valid") findings.pass("The signature of the card is valid");
    else if (signature?.kind === "unverified") {
      findings.skip(`The signature of the card: ${signature.reason}`);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ClientError)) throw error;
    if (error.kind === "bad-signature") findings.diagnose("signature-invalid", url, error.message);
    else findings.skip(`The signature of the card: ${error.message}`);
  }
}
