import { BlockList } from "node:net";
import { type Address, parseAddress } from "./address.ts";
import { hostOf } from "./host-of.ts";

/** One thing that the operator lets requests go to. */
export interface AllowEntry {
  /** Whether this host may be reached at this port, wherever its name leads. */
  allowsHost(host: string, port: number): boolean;
  /** Whether this address may be reached at this port, by whichever name. */
  allowsAddress(address: Address, port: number): boolean;
}

const never = (): boolean => false;

/** Reads `host`, `host:port`, `*.domain`, an address or a range of addresses. */
export function parseAllowEntry(entry: string): AllowEntry {
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
  const host = canonicalHost(name);
  const port = digits === undefined ? undefined : Number(digits);
  if (host === undefined || port === 0 || (port ?? 0) > 65_535) return undefined;

  const address = parseAddress(host);
  if (address === undefined) return nameEntry(host, stars !== "", port);
  // `10.0.0` is an address to a URL, and surely not the one that was meant.
  if (stars !== "" || (address.family === "ipv4" && host !== name)) return undefined;
  return rangeEntry(address, address.family === "ipv4" ? 32 : 128, port);
}

/** Spelled as URLs spell it, so that the two can be compared. */
function canonicalHost(name: string): string | undefined {
  const url = `http://${name}/`;
  return name !== "" && URL.canParse(url) ? hostOf(new URL(url)) : undefined;
}

function nameEntry(name: string, below: boolean, onlyPort: number | undefined): AllowEntry {
  return {
    allowsHost: (host, port) =>
      (onlyPort ?? port) === port && (below ? host.endsWith(`.${name}`) : host === name),
    allowsAddress: never,
  };
}

function rangeEntry({ text, family }: Address, bits: number, onlyPort?: number): AllowEntry {
  const range = new BlockList();
  range.addSubnet(text, bits, family);
  return {
    allowsHost: never,
    // The families are kept apart: to a BlockList, `::/0` holds all of IPv4.
    allowsAddress: (address, port) =>
      (onlyPort ?? port) === port &&
      address.family === family &&
      range.check(address.text, address.family),
  };
}
