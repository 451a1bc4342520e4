import { A2AError } from "@convoke/protocol";
import { type HttpRequest, header } from "../http/exchange.ts";

/** These change nothing, and without CORS headers a page cannot read the answer. */
const HARMLESS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/**
 * Refuses what a page of another origin sends: a browser sends it also to an
 * agent on its user's machine, which is open to that user alone. Programs that
 * are no browsers name no origin.
 *
 * @param hosts the names that the caller used, which have been checked
 */
export function checkOrigin(
  request: HttpRequest,
  hosts: readonly (string | undefined)[],
  isListed: (origin: string) => boolean,
): void {
  const origin = header(request, "origin");
  if (origin === undefined || HARMLESS.has(request.method)) return;
  // A proxy may have ended TLS, so the scheme says nothing.
  const host = URL.canParse(origin) ? new URL(origin).host : undefined;
  const isOwn =
    host !== undefined && host !== "" && hosts.some((own) => own?.toLowerCase() === host);
  if (isOwn || isListed(origin)) return;
  const detail = `pages of ${JSON.stringify(origin)} may not call; list it in CONVOKE_CORS_ORIGINS (cors.origins)`;
  throw new A2AError("Forbidden", detail, { details: { reason: "forbidden" } });
}
