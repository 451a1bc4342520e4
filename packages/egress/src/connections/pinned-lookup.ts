import { lookup } from "node:dns/promises";
import { type LookupFunction, isIP } from "node:net";
import { parseAddress } from "../policy/address.ts";
import { howToAllow } from "../policy/check-url.ts";
import type { DestinationRule } from "../policy/destination-rule.ts";
import { EgressError, describeProblem } from "../policy/egress-error.ts";
import { canonicalHost } from "../policy/host.ts";

/** Finds the addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** Resolves as the operating system does, including its hosts file. */
export const systemResolve: Resolve = async (host) => {
  const found = await lookup(host, { all: true, order: "verbatim" });
  return found.map(({ address }) => address);
};

/** Creates the `lookup` function of a connection for the URL. */
export type PinnedLookup = (url: URL, signal?: AbortSignal) => LookupFunction;

/**
 * Each connection resolves its name once and connects to the addresses that were checked: a name
 * cannot change its address between the check and the connection. Hosts that are addresses are not
 * resolved; the check of the URL covers them. If the signal aborts meanwhile, nothing is connected.
 */
export function createPinnedLookup(resolve: Resolve, mayReach: DestinationRule): PinnedLookup {
  return (url, signal) => (_host, options, found) => {
    resolveHost(url, resolve, mayReach).then(
      (addresses) => {
        if (signal?.aborted) {
          found(new Error("the request was aborted"), []);
          return;
        }
        const pins = addresses.map((address) => ({ address, family: isIP(address) }));
        const [first] = pins;
        if (options.all || first === undefined) found(null, pins);
        else found(null, first.address, first.family);
      },
      (error: unknown) => found(error as NodeJS.ErrnoException, []),
    );
  };
}

/**
 * The addresses that a request to the URL may connect to. One forbidden address rejects the request:
 * a name that also resolves to an internal address is not trusted with its public ones either.
 */
async function resolveHost(
  url: URL,
  resolve: Resolve,
  mayReach: DestinationRule,
): Promise<readonly string[]> {
  const addresses = await resolveAddresses(url, resolve);
  if (!addresses.every((address) => mayReach(url, address))) {
    throw new EgressError(
      "address",
      `"${url.host}" resolves to an address that is not public; ${howToAllow(url, mayReach)}`,
    );
  }
  return addresses;
}

async function resolveAddresses(url: URL, resolve: Resolve): Promise<readonly string[]> {
  const host = canonicalHost(url);
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
