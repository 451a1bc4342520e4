import { BlockList, isIPv4, isIPv6 } from "node:net";

/** An IP address. */
export interface Address {
  readonly text: string;
  readonly family: "ipv4" | "ipv6";
  /** The IPv4 address to which packets for this IPv6 address are sent. */
  readonly inner?: Address;
}

/**
 * Parses an address as resolvers and URLs write it. An address with a zone id is rejected: the zone
 * names a network interface of this machine.
 */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { text, family: "ipv4" };
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const inner = innerAddress(expandGroups(text));
  return { text, family: "ipv6", ...(inner && { inner }) };
}

/**
 * Two prefixes are checked by the IPv4 address that they contain. For `::ffff:0:0/96` the system
 * connects to that IPv4 address. `64:ff9b::/96` is what DNS64 returns for every IPv4-only host in a
 * network without IPv4, so rejecting it would cut such networks off from half of the public web.
 *
 * Other forms are rejected with everything outside of `2000::/3`: IPv4-compatible addresses are
 * obsolete, and in `64:ff9b:1::/48` only the local operator knows where the IPv4 address is.
 */
function innerAddress(groups: readonly number[]): Address | undefined {
  const isMapped = startsWith(groups, [0, 0, 0, 0, 0, 0xffff]);
  const isTranslated = startsWith(groups, [0x64, 0xff9b, 0, 0, 0, 0]);
  if (!isMapped && !isTranslated) return undefined;
  const text = groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join(".");
  return { text, family: "ipv4" };
}

function startsWith(groups: readonly number[], prefix: readonly number[]): boolean {
  return prefix.every((group, index) => groups[index] === group);
}

/** The eight groups of a valid IPv6 address; `URL` normalizes its spelling. */
function expandGroups(text: string): readonly number[] {
  const [head = "", tail] = new URL(`http://[${text}]/`).hostname.slice(1, -1).split("::");
  const before = parseGroups(head);
  if (tail === undefined) return before;
  const after = parseGroups(tail);
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function parseGroups(text: string): readonly number[] {
  return text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
}

/** Special ranges inside it. */
const SPECIAL_IPV6 = [
  "2001::/23", // protocol assignments, with Teredo, which carries IPv4 inside
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4, which carries IPv4 inside
  "3fff::/20", // documentation
];

const special6 = blockList("ipv6", SPECIAL_IPV6);

/** The only range from which public IPv6 addresses are assigned (RFC 4291 §2.4). */
const GLOBAL_IPV6 = ["2000::/3"];

const global6 = blockList("ipv6", GLOBAL_IPV6);

/** IPv4 ranges outside the public internet (IANA's special-purpose registry, RFC 6890). */
const SPECIAL_IPV4 = [
  "0.0.0.0/8", // this network; many systems connect it to loopback
  "10.0.0.0/8", // private
  "100.64.0.0/10", // carrier-grade NAT, also used by cloud metadata services
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // nominally public; inside Azure it is the host's own agent
  "169.254.0.0/16", // link-local, where cloud metadata lives
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // relays from 6to4, obsolete
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
];

const special4 = blockList("ipv4", SPECIAL_IPV4);

/** Whether an address belongs to the public internet. */
export function isPublicAddress({ text, family, inner }: Address): boolean {
  if (inner) return isPublicAddress(inner);
  if (family === "ipv4") return !special4.check(text, "ipv4");
  return global6.check(text, "ipv6") && !special6.check(text, "ipv6");
}

function blockList(family: Address["family"], subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [network = "", bits] = subnet.split("/");
    list.addSubnet(network, Number(bits), family);
  }
  return list;
}
