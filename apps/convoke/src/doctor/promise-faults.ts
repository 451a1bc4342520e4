import type { ErrorReason } from "@convoke/protocol";
import type { Findings } from "./diagnoses.ts";
import type { FoundCard } from "./find-card.ts";
import { type Target, promises, safeCall, toAnswer } from "./interface-call.ts";
import { type DoctorRequests, type Reply, describeError } from "./requests.ts";

/** Whether push notifications and the extended card exist, if the card says so. */
export async function checkPromises(
  findings: Findings,
  requests: DoctorRequests,
  { card }: FoundCard,
  target: Target,
): Promise<void> {
  if (promises(card, "pushNotifications")) {
    await checkPromise(findings, requests, {
      target,
      operation: "listPushConfigs",
      what: "Push notifications",
      id: "push-missing",
    });
  }
  const isExtended =
    promises(card, "extendedAgentCard") || card["supportsAuthenticatedExtendedCard"] === true;
  if (!isExtended) return;
  await checkPromise(findings, requests, {
    target,
    operation: "getExtendedCard",
    what: "The extended card",
    id: "extended-card-missing",
  });
}

interface Promised {
  readonly target: Target;
  readonly operation: "listPushConfigs" | "getExtendedCard";
  readonly what: string;
  readonly id: "push-missing" | "extended-card-missing";
}

/** The errors with which a server says that it does not have something. */
export const NOT_SUPPORTED: readonly (ErrorReason | undefined)[] = [
  "ExtendedAgentCardNotConfigured",
  "MethodNotFound",
  "PushNotificationNotSupported",
  "UnsupportedOperation",
];

async function checkPromise(
  findings: Findings,
  requests: DoctorRequests,
  { target, operation, what, id }: Promised,
): Promise<void> {
  findings.step(`asking for ${what.toLowerCase()}`);
  let reply: Reply;
  try {
    reply = await requests.send(safeCall(target, operation));
  } catch (error) {
    requests.options.signal.throwIfAborted();
    findings.skip(`${what}: ${describeError(error)}`);
    return;
  }
  const { kind, reason } = toAnswer(target, reply);
  if (kind === "unauthorized") findings.skip(`${what}: needs credentials`);
  else if (kind !== "understood" || NOT_SUPPORTED.includes(reason)) {
    const seen = `the card promises it, but the server answered ${reason ?? reply.status}`;
    findings.diagnose(id, target.url, seen);
  } else findings.pass(`${what}: available, as the card says`);
}

/** Whether a page of that origin may read the card and call the interface. */
export async function checkBrowsers(
  findings: Findings,
  requests: DoctorRequests,
  { url, origin, target }: { url: string; origin: string; target: Target | undefined },
): Promise<void> {
  findings.step(`calling as a page of ${origin}`);
  const wanted = ["content-type", ...(target?.version === "1.0" ? ["a2a-version"] : [])];
  try {
    const card = await requests.send({ url, headers: { origin } });
    if (!allowsOrigin(card, origin)) {
      findings.diagnose("cors-missing", url, noPermission(origin));
      return;
    }
    if (target === undefined) return;
    const preflight = await requests.send({
      method: "OPTIONS",
      url: safeCall(target, "cancelTask").url,
      isAnonymous: true,
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": wanted.join(","),
      },
    });
    const allowed = listed(preflight, "access-control-allow-headers");
    const missing = wanted.filter((name) => !allowed.includes(name) && !allowed.includes("*"));
    if (preflight.status >= 300 || !allowsOrigin(preflight, origin)) {
      const seen = `the preflight request got a ${preflight.status}: ${noPermission(origin)}`;
      findings.diagnose("cors-missing", target.url, seen);
    } else if (missing.length > 0) {
      const seen = `Access-Control-Allow-Headers lacks ${missing.join(", ")}`;
      findings.diagnose("cors-missing", target.url, seen);
    } else findings.pass(`Pages of ${origin} may call the agent`);
  } catch (error) {
    requests.options.signal.throwIfAborted();
    findings.skip(`Browsers: ${describeError(error)}`);
  }
}

function noPermission(origin: string): string {
  return `no Access-Control-Allow-Origin for ${origin}`;
}

function allowsOrigin(reply: Reply, origin: string): boolean {
  const allowed = reply.headers["access-control-allow-origin"];
  return allowed === "*" || allowed === origin;
}

function listed({ headers }: Reply, name: string): readonly string[] {
  return (headers[name] ?? "").split(",").map((entry) => entry.trim().toLowerCase());
}
