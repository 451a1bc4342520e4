import { parseAddress } from "./address.ts";
import type { DestinationRule } from "./destination-rule.ts";
import { EgressError } from "./egress-error.ts";
import { hostOf } from "./host-of.ts";

/**
 * Reads a URL and refuses what can be told from its text. The parser brings
 * every spelling of an address (`0x7f.1`, `2130706433`, `①②⑦.0.0.1`) to one,
 * and it is that one, never the text, which is judged and connected to.
 */
export function checkUrl(text: string, mayReach: DestinationRule): URL {
  if (!URL.canParse(text)) {
    throw new EgressError(
      "malformed",
      "the URL cannot be read; write it in full, like https://example.com/webhook",
    );
  }
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    const scheme = url.protocol.slice(0, -1);
    throw new EgressError("scheme", `the URL has the scheme "${scheme}"; use https or http`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new EgressError(
      "userinfo",
      `the URL holds a user name or password for "${url.host}"; leave it out and authenticate by a header`,
    );
  }
  const address = knownAddress(hostOf(url));
  if (address !== undefined && !mayReach(url, address)) {
    throw new EgressError("address", `"${url.host}" is not a public address; ${LIST_IT}`);
  }
  return url;
}

export const LIST_IT =
  "only the operator can let requests go there, by an entry in the egress allow list";

/** Where a host leads, as far as that is certain without asking. */
function knownAddress(host: string): string | undefined {
  if (parseAddress(host)) return host;
  // These names are loopback on every system (RFC 6761 §6.3).
  return host === "localhost" || host.endsWith(".localhost") ? "127.0.0.1" : undefined;
}
