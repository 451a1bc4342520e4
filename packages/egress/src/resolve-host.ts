import { lookup } from "node:dns/promises";
import { parseAddress } from "./address.ts";
import { LIST_IT } from "./check-url.ts";
import { describeProblem } from "./describe-problem.ts";
import type { DestinationRule } from "./destination-rule.ts";
import { EgressError } from "./egress-error.ts";
import { hostOf } from "./host-of.ts";

/** Finds the addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** As the system does it, with its hosts file. */
export const systemResolve: Resolve = async (host) => {
  const found = await lookup(host, { all: true, order: "verbatim" });
  return found.map(({ address }) => address);
};

/**
 * The addresses that a request to the URL may connect to. One bad address
 * refuses the request: a name that also leads inside is not to be trusted with
 * the good ones either.
 */
export async function resolveHost(
  url: URL,
  resolve: Resolve,
  mayReach: DestinationRule,
): Promise<readonly string[]> {
  const addresses = await addressesOf(url, resolve);
  if (!addresses.every((address) => mayReach(url, address))) {
    throw new EgressError(
      "address",
      `"${url.host}" leads to an address that is not public; ${LIST_IT}`,
    );
  }
  return addresses;
}

async function addressesOf(url: URL, resolve: Resolve): Promise<readonly string[]> {
  const host = hostOf(url);
  if (parseAddress(host)) return [host];
  const addresses = await resolve(host).catch((error: unknown) => {
    throw notFound(url, describeProblem(error), error);
  });
  if (addresses.length > 0) return [...new Set(addresses)];
  throw notFound(url, "its name has no address");
}

function notFound(url: URL, problem: string, cause?: unknown): EgressError {
  const message = `could not reach ${url.origin}: ${problem}`;
  return new EgressError("network", message, { cause, sent: false });
}
