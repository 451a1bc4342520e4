import { isIPv4, isIPv6 } from "node:net";

/** An IP address, with what it stands for. */
export interface Address {
  readonly text: string;
  readonly family: "ipv4" | "ipv6";
  /** The IPv4 address that a packet to this IPv6 address ends at. */
  readonly inner?: Address;
}

/**
 * Reads an address as resolvers and URLs write it. Zone ids are not addresses
 * here: they name an interface of this very machine.
 */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { text, family: "ipv4" };
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const inner = innerAddress(groupsOf(text));
  return { text, family: "ipv6", ...(inner && { inner }) };
}

/**
 * Two prefixes are judged by the IPv4 address inside. `::ffff:0:0/96` is IPv4
 * by another name: the system connects to the inner address. `64:ff9b::/96` is
 * what DNS64 answers for every IPv4-only host of a network without IPv4, so
 * refusing it would cut such networks off from half of the public web.
 *
 * The other forms are refused with everything outside of `2000::/3`:
 * IPv4-compatible addresses are obsolete, and `64:ff9b:1::/48` hides its IPv4
 * address at a place that only the local operator knows.
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
  return prefix.every((group, place) => groups[place] === group);
}

/** The eight groups of a valid IPv6 address. `URL` brings every spelling to one. */
function groupsOf(text: string): readonly number[] {
  const [head = "", tail] = new URL(`http://[${text}]/`).hostname.slice(1, -1).split("::");
  const before = parseGroups(head);
  if (tail === undefined) return before;
  const after = parseGroups(tail);
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function parseGroups(text: string): readonly number[] {
  return text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
}
