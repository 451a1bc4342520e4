import { checkHeaders } from "./check-headers.ts";
import { checkUrl } from "./check-url.ts";
import { withDeadline } from "./deadline.ts";
import { createDestinationRule } from "./destination-rule.ts";
import type { Egress } from "./egress.ts";
import { exchange } from "./exchange.ts";
import { type Resolve, resolveHost, systemResolve } from "./resolve-host.ts";

export interface EgressOptions {
  /**
   * What may be reached although it is not public: `host`, `host:port`,
   * `*.example.internal` (its subdomains only), an address, or a range such as
   * `10.0.0.0/8`. A listed host may lead to any address; a listed address may
   * be reached by any name. Nothing by default.
   */
  readonly allow?: readonly string[];
  /** Finds the addresses of a name; by default the system does. */
  readonly resolve?: Resolve;
}

/**
 * The egress policy. Each request resolves its host anew, judges every address
 * that came back, and connects to those and no others; it follows no redirect.
 */
export function createEgress(options: EgressOptions = {}): Egress {
  const mayReach = createDestinationRule(options.allow ?? []);
  const resolve = options.resolve ?? systemResolve;

  return {
    check: (url) => checkUrl(url, mayReach),

    async post(text, { headers, body, timeoutMs, signal }) {
      const url = checkUrl(text, mayReach);
      checkHeaders(headers);
      return await withDeadline({ host: url.host, timeoutMs, signal }, async (stop) => {
        const addresses = await resolveHost(url, resolve, mayReach);
        stop.throwIfAborted();
        return await exchange({ url, addresses, request: { headers, body }, signal: stop });
      });
    },
  };
}
