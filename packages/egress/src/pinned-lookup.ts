import { type LookupFunction, isIP } from "node:net";
import type { DestinationRule } from "./destination-rule.ts";
import { type Resolve, resolveHost } from "./resolve-host.ts";

/** Makes what stands in for DNS when a connection for the URL is opened. */
export type PinnedLookup = (url: URL, signal?: AbortSignal) => LookupFunction;

/**
 * Each connection looks its name up once, and only what was judged is handed
 * to it: between the check and the connection a name cannot move. Hosts that
 * are addresses are never looked up; the URL's own check has judged them. When
 * the signal aborts meanwhile, nothing is connected to any more.
 */
export function createPinnedLookup(resolve: Resolve, mayReach: DestinationRule): PinnedLookup {
  return (url, signal) => (_host, options, found) => {
    resolveHost(url, resolve, mayReach).then(
      (addresses) => {
        if (signal?.aborted) {
          found(new Error("nobody waits any more"), []);
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
