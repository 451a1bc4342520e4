import { parseAddress } from "./address.ts";
import type { DestinationRule } from "./destination-rule.ts";
import { EgressError } from "./egress-error.ts";
import { canonicalHost } from "./host.ts";

/**
 * Parses a URL and rejects what can be rejected without DNS. The URL parser normalizes every spelling
 * of an address (`0x7f.1`, `2130706433`, `①②⑦.0.0.1`), and only the normalized form is checked and
 * connected to, never the text.
 */
export function checkUrl(text: string, mayReach: DestinationRule): URL {
  if (!URL.canParse(text)) {
    throw new EgressError(
      "malformed",
      "the URL cannot be parsed; write it in full, like https://example.com/webhook",
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
      `the URL holds a user name or password for "${url.host}"; remove it and authenticate with a header`,
    );
  }
  const address = knownAddress(canonicalHost(url));
  if (address !== undefined && !mayReach(url, address)) {
    throw new EgressError(
      "address",
      `"${url.host}" is not a public address; ${howToAllow(url, mayReach)}`,
    );
  }
  return url;
}

/** How many URLs are remembered. */
const MAX_URLS = 64;

/**
 * Creates a check that remembers the URLs that passed: a client sends all its requests to a few. The
 * rule never changes, and what a name resolves to is checked for each connection.
 */
export function createUrlCheck(mayReach: DestinationRule): (text: string) => URL {
  const passed = new Map<string, URL>();
  return (text) => {
    const known = passed.get(text);
    if (known !== undefined) return known;
    const url = checkUrl(text, mayReach);
    if (passed.size === MAX_URLS) passed.clear();
    passed.set(text, url);
    return url;
  };
}

/** Only the operator can lift the rule. */
export function howToAllow(
  { host }: URL,
  { setting = "the option allow" }: DestinationRule,
): string {
  return `only the operator can permit it, with "${host}" in ${setting}`;
}

/** The address of a host, if it is certain without DNS. */
function knownAddress(host: string): string | undefined {
  if (parseAddress(host)) return host;
  // These names are loopback on every system (RFC 6761 §6.3).
  return host === "localhost" || host.endsWith(".localhost") ? "127.0.0.1" : undefined;
}
