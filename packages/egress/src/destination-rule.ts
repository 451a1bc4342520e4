import { type Address, parseAddress } from "./address.ts";
import { parseAllowEntry } from "./allow-entry.ts";
import { hostOf, portOf } from "./host-of.ts";
import { isPublicAddress } from "./public-address.ts";
import { createTrust } from "./trusted-origins.ts";

/** Whether a request to the URL may connect to the address. */
export type DestinationRule = (url: URL, address: string) => boolean;

/** Public addresses, what the operator listed by name or by address, and whole origins that were given. */
export function createDestinationRule(
  allow: readonly string[],
  trusted: readonly string[] = [],
): DestinationRule {
  const entries = allow.map(parseAllowEntry);
  const isTrusted = createTrust(trusted);
  const isListed = (address: Address, port: number) =>
    entries.some((entry) => entry.allowsAddress(address, port));

  return (url, text) => {
    const address = parseAddress(text);
    if (address === undefined) return false;
    const port = portOf(url);
    return (
      isPublicAddress(address) ||
      isTrusted(url) ||
      isListed(address, port) ||
      (address.inner !== undefined && isListed(address.inner, port)) ||
      entries.some((entry) => entry.allowsHost(hostOf(url), port))
    );
  };
}
