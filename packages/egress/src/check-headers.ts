import { validateHeaderName, validateHeaderValue } from "node:http";
import { EgressError } from "./egress-error.ts";

/**
 * What belongs to the connection. Whoever could choose these would reach
 * another site behind the same address, or a second request inside the first.
 */
const OWN_HEADERS = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Refuses headers that cannot be sent, naming them but never their values. */
export function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (OWN_HEADERS.has(name.toLowerCase())) {
      throw new EgressError("malformed", `the header "${name}" is set here; leave it out`);
    }
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch (error) {
      throw new EgressError(
        "malformed",
        `the header ${JSON.stringify(name)} cannot be sent; its name must be a token and its value visible ASCII`,
        { cause: error },
      );
    }
  }
}
