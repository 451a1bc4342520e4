import { hostOf, portOf } from "./host-of.ts";

/** One place by three names: who trusts one of them means the machine itself. */
const LOOPBACK_HOSTS = ["localhost", "127.0.0.1", "::1"];

/**
 * Whether a URL has an origin that the operator gave. Loopback is the same
 * place by whichever of its names, at the same port and by the same scheme.
 */
export function createTrust(trusted: readonly string[]): (url: URL) => boolean {
  const places = new Set(trusted.flatMap(placesOf));
  return (url) => places.has(placeOf(url, hostOf(url)));
}

function placesOf(text: string): readonly string[] {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new TypeError(
      `egress: cannot read the trusted URL ${JSON.stringify(text)}; write it in full, like http://127.0.0.1:4000`,
    );
  }
  const host = hostOf(url);
  const hosts = LOOPBACK_HOSTS.includes(host) ? LOOPBACK_HOSTS : [host];
  return hosts.map((name) => placeOf(url, name));
}

function placeOf(url: URL, host: string): string {
  return `${url.protocol}${host}:${portOf(url)}`;
}
