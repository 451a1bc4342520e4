import { BlockList } from "node:net";
import { type Address, isPublicAddress, parseAddress } from "./address.ts";
import { canonicalHost, effectivePort } from "./host.ts";

/** Whether a request to the URL may connect to the address. */
export interface DestinationRule {
  (url: URL, address: string): boolean;
  /** How the operator permits another destination. Default: the option `allow`. */
  readonly setting?: string | undefined;
}

interface DestinationOptions {
  readonly trusted?: readonly string[] | undefined;
  readonly setting?: string | undefined;
}

/** Allows public addresses, what the operator listed by name or address, and whole trusted origins. */
export function createDestinationRule(
  allow: readonly string[],
  { trusted = [], setting }: DestinationOptions = {},
): DestinationRule {
  const entries = allow.map(parseAllowEntry);
  const isTrusted = createTrust(trusted);
  const isListed = (address: Address, port: number) =>
    entries.some((entry) => entry.allowsAddress(address, port));

  const rule = (url: URL, text: string): boolean => {
    const address = parseAddress(text);
    if (address === undefined) return false;
    const port = effectivePort(url);
    return (
      isPublicAddress(address) ||
      isTrusted(url) ||
      isListed(address, port) ||
      (address.inner !== undefined && isListed(address.inner, port)) ||
      entries.some((entry) => entry.allowsHost(canonicalHost(url), port))
    );
  };
  return Object.assign(rule, { setting });
}

/** One destination that the operator allows. */
interface AllowEntry {
  /** Whether this host may be reached at this port, whatever its name resolves to. */
  allowsHost(host: string, port: number): boolean;
  /** Whether this address may be reached at this port, under whatever name. */
  allowsAddress(address: Address, port: number): boolean;
}

/** Parses `host`, `host:port`, `*.domain`, an address or a range of addresses. */
function parseAllowEntry(entry: string): AllowEntry {
  const parsed = parseRange(entry) ?? parseHost(entry);
  if (parsed) return parsed;
  throw new TypeError(
    `egress: cannot read the allow entry ${JSON.stringify(entry)}; write a host ("example.internal"), ` +
      `a host with a port ("example.internal:8080"), all subdomains ("*.example.internal"), ` +
      `an address ("10.0.0.7", "fd00::7") or a range ("10.0.0.0/8", "fd00::/8")`,
  );
}

function parseRange(entry: string): AllowEntry | undefined {
  const [, network = "", bits] = /^([^/]+)\/(\d{1,3})$/.exec(entry) ?? [];
  const address = parseAddress(network);
  if (!address || Number(bits) > (address.family === "ipv4" ? 32 : 128)) return undefined;
  return rangeEntry(address, Number(bits));
}

function parseHost(entry: string): AllowEntry | undefined {
  const bare = parseAddress(entry);
  if (bare) return rangeEntry(bare, bare.family === "ipv4" ? 32 : 128);

  const [, stars = "", name = "", digits] =
    /^(\*\.)?(\[[^\]]+\]|[^\s:/?#@%*\\[\]]+)(?::(\d{1,5}))?$/.exec(entry) ?? [];
  const host = asUrlHost(name);
  const port = digits === undefined ? undefined : Number(digits);
  if (host === undefined || port === 0 || (port ?? 0) > 65_535) return undefined;

  const address = parseAddress(host);
  if (address === undefined) return nameEntry(host, stars !== "", port);
  // A URL would read `10.0.0` as an address (10.0.0.0), which is surely not the one that was meant.
  if (stars !== "" || (address.family === "ipv4" && host !== name)) return undefined;
  return rangeEntry(address, address.family === "ipv4" ? 32 : 128, port);
}

/** The name as the URL parser spells it, so that the two can be compared. */
function asUrlHost(name: string): string | undefined {
  const url = `http://${name}/`;
  return name !== "" && URL.canParse(url) ? canonicalHost(new URL(url)) : undefined;
}

const never = (): boolean => false;

function nameEntry(name: string, subdomains: boolean, onlyPort: number | undefined): AllowEntry {
  return {
    allowsHost: (host, port) =>
      (onlyPort ?? port) === port && (subdomains ? host.endsWith(`.${name}`) : host === name),
    allowsAddress: never,
  };
}

function rangeEntry({ text, family }: Address, bits: number, onlyPort?: number): AllowEntry {
  const range = new BlockList();
  range.addSubnet(text, bits, family);
  return {
    allowsHost: never,
    // Compare the families first: for a BlockList, `::/0` contains all of IPv4.
    allowsAddress: (address, port) =>
      (onlyPort ?? port) === port &&
      address.family === family &&
      range.check(address.text, address.family),
  };
}

/**
 * Whether a URL has an origin that the operator gave. The names of loopback are interchangeable, at
 * the same port and with the same scheme.
 */
function createTrust(trusted: readonly string[]): (url: URL) => boolean {
  const origins = new Set(trusted.flatMap(equivalentOrigins));
  return (url) => origins.has(originWith(url, canonicalHost(url)));
}

/** Names of the same machine: trusting one of them means trusting all. */
const LOOPBACK_HOSTS = ["localhost", "127.0.0.1", "::1"];

function equivalentOrigins(text: string): readonly string[] {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new TypeError(
      `egress: cannot read the trusted URL ${JSON.stringify(text)}; write it in full, like http://127.0.0.1:4000`,
    );
  }
  const host = canonicalHost(url);
  const hosts = LOOPBACK_HOSTS.includes(host) ? LOOPBACK_HOSTS : [host];
  return hosts.map((name) => originWith(url, name));
}

function originWith(url: URL, host: string): string {
  return `${url.protocol}${host}:${effectivePort(url)}`;
}
