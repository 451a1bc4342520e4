import { ClientError } from "@convoke/protocol";
import type { HttpAnswer, HttpCall } from "./http-client.ts";
import { methodOf } from "./method-of.ts";

/** Whoever redirects more often has sent us in circles. */
const MAX_REDIRECTS = 5;

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Goes where an answer points, within its origin and for GET only. To another
 * origin nothing is sent, so that neither credentials nor questions end up
 * there. For other methods a redirect is an answer like any other.
 */
export async function followRedirects(
  call: HttpCall,
  request: (call: HttpCall) => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  let answer = await request(call);
  if (methodOf(call) !== "GET" || call.redirects === "answer") return answer;
  for (let count = 1; ; count++) {
    const target = targetOf(answer);
    if (target === undefined) return answer;
    await leave(answer);
    const { origin } = new URL(answer.url);
    if (target.origin !== origin) throw otherOrigin(origin, target.origin);
    if (count > MAX_REDIRECTS) throw tooMany(origin);
    answer = await request({ ...call, url: target.href });
  }
}

/** That a redirect would lead from one origin to another. */
export function otherOrigin(from: string, to: string): ClientError {
  return new ClientError(
    "other-origin",
    `${from} redirects to ${to}, which is another origin; nothing was sent there. ` +
      `If you trust that address, use ${to} itself`,
  );
}

/** Where a redirect points; undefined for all other answers, and when it points nowhere. */
function targetOf({ status, headers, url }: HttpAnswer): URL | undefined {
  const { location } = headers;
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  return URL.canParse(location, url) ? new URL(location, url) : undefined;
}

async function leave({ body }: HttpAnswer): Promise<void> {
  await body[Symbol.asyncIterator]().return?.();
}

function tooMany(origin: string): ClientError {
  const message = `${origin} redirects more than ${MAX_REDIRECTS} times; use the address where that ends`;
  return new ClientError("unreachable", message, { sent: true });
}
