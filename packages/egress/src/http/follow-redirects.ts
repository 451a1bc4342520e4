import { ClientError } from "@convoke/protocol";
import { type HttpAnswer, type HttpCall, effectiveMethod } from "./http-client.ts";

/** More redirects than this are a loop. */
const MAX_REDIRECTS = 5;

/**
 * Follows redirects within the origin, for GET only. Nothing is sent to another origin, so that
 * neither credentials nor requests end up there. For other methods a redirect is returned.
 */
export function followRedirects(
  call: HttpCall,
  request: (call: HttpCall) => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  if (effectiveMethod(call) !== "GET" || call.redirects === "answer") return request(call);
  return follow(call, request);
}

async function follow(
  call: HttpCall,
  request: (call: HttpCall) => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  let answer = await request(call);
  for (let count = 1; ; count++) {
    const target = redirectTarget(answer);
    if (target === undefined) return answer;
    await skipBody(answer);
    const { origin } = new URL(answer.url);
    if (target.origin !== origin) throw otherOrigin(origin, target.origin);
    if (count > MAX_REDIRECTS) throw tooMany(origin);
    answer = await request({ ...call, url: target.href });
  }
}

/** The error for a redirect to another origin. */
export function otherOrigin(from: string, to: string): ClientError {
  return new ClientError(
    "other-origin",
    `${from} redirects to ${to}, which is another origin; nothing was sent there. ` +
      `If you trust that address, use ${to} itself`,
  );
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The target of a redirect; undefined for any other response and for an invalid `Location`. */
function redirectTarget({ status, headers, url }: HttpAnswer): URL | undefined {
  const { location } = headers;
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  return URL.canParse(location, url) ? new URL(location, url) : undefined;
}

async function skipBody({ body }: HttpAnswer): Promise<void> {
  await body[Symbol.asyncIterator]().return?.();
}

function tooMany(origin: string): ClientError {
  const message = `${origin} redirects more than ${MAX_REDIRECTS} times; use the final address`;
  return new ClientError("unreachable", message, { sent: true });
}
