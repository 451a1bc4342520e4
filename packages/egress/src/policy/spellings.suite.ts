import fc, { type Arbitrary } from "fast-check";

/**
 * The special ranges, written out again as first and last address, independent of the code under
 * test.
 */
export const SPECIAL_RANGES: readonly (readonly [first: string, last: string])[] = [
  ["0.0.0.0", "0.255.255.255"],
  ["10.0.0.0", "10.255.255.255"],
  ["100.64.0.0", "100.127.255.255"],
  ["127.0.0.0", "127.255.255.255"],
  ["168.63.129.16", "168.63.129.16"],
  ["169.254.0.0", "169.254.255.255"],
  ["172.16.0.0", "172.31.255.255"],
  ["192.0.0.0", "192.0.0.255"],
  ["192.0.2.0", "192.0.2.255"],
  ["192.88.99.0", "192.88.99.255"],
  ["192.168.0.0", "192.168.255.255"],
  ["198.18.0.0", "198.19.255.255"],
  ["198.51.100.0", "198.51.100.255"],
  ["203.0.113.0", "203.0.113.255"],
  ["224.0.0.0", "239.255.255.255"],
  ["240.0.0.0", "255.255.255.255"],
];

export function toNumber(address: string): number {
  return address.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
}

export function toText(address: number): string {
  return [24, 16, 8, 0].map((bits) => (address >>> bits) & 0xff).join(".");
}

export function isSpecial(address: number): boolean {
  return SPECIAL_RANGES.some(
    ([first, last]) => toNumber(first) <= address && address <= toNumber(last),
  );
}

/** IPv4 addresses as numbers, often at the borders of ranges. */
export const specialAddress: Arbitrary<number> = fc
  .constantFrom(...SPECIAL_RANGES)
  .chain(([first, last]) => fc.integer({ min: toNumber(first), max: toNumber(last) }));

export const publicAddress: Arbitrary<number> = fc
  .oneof(
    fc.integer({ min: 0, max: 0xffff_ffff }),
    fc.constantFrom(...SPECIAL_RANGES).map(([first]) => toNumber(first) - 1),
    fc.constantFrom(...SPECIAL_RANGES).map(([, last]) => toNumber(last) + 1),
  )
  .filter((address) => address > 0 && address <= 0xffff_ffff && !isSpecial(address));

/** A number in one of the bases that hosts may be written in, with leading zeros. */
const digits: Arbitrary<(value: number) => string> = fc.oneof(
  fc.constant(String),
  fc.nat(4).map((zeros) => (value: number) => `0${"0".repeat(zeros)}${value.toString(8)}`),
  fc.nat(4).map((zeros) => (value: number) => `0x${"0".repeat(zeros)}${value.toString(16)}`),
  fc.constant((value: number) => `0X${value.toString(16).toUpperCase()}`),
);

/** Look-alikes that Unicode maps to ASCII, and percent-encoding, which hosts may have too. */
const disguise: Arbitrary<(host: string) => string> = fc.constantFrom(
  (host: string) => host,
  (host: string) => host.replace(/[0-9]/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  (host: string) => host.replace(/[1-9]/g, (digit) => String.fromCodePoint(0x245f + Number(digit))),
  (host: string) => host.replace(/\./g, "。"),
  (host: string) => host.replace(/\./g, "．"),
  (host: string) => host.replace(/[0-9]/g, (digit) => `%3${digit}`),
  (host: string) => host.replace(/(?<=.)\./g, "\u00AD."),
);

/** The address as a host of one to four numbers. */
export function spellingsOfIpv4(address: number): Arbitrary<string> {
  return fc
    .record({
      count: fc.integer({ min: 1, max: 4 }),
      writers: fc.array(digits, { minLength: 4, maxLength: 4 }),
      disguise,
      dot: fc.constantFrom("", "."),
    })
    .map(({ count, writers, disguise: hide, dot }) => {
      const bytes = toText(address).split(".").map(Number);
      const first = bytes.slice(0, count - 1);
      const rest = bytes.slice(count - 1).reduce((sum, byte) => sum * 256 + byte, 0);
      const written = [...first, rest].map((value, place) => writers[place]!(value));
      return hide(`${written.join(".")}${dot}`);
    });
}

/** IPv6 that leads to the IPv4 address or embeds it, with every prefix that does so. */
export function spellingsOfIpv6(
  address: number,
  prefixes: readonly string[] = [...JUDGED_PREFIXES, ...REFUSED_PREFIXES],
): Arbitrary<string> {
  const groups = `${(address >>> 16).toString(16)}:${(address & 0xffff).toString(16)}`;
  const padded = groups.replace(/[0-9a-f]+/g, (group) => group.padStart(4, "0"));
  return fc
    .tuple(fc.constantFrom(...prefixes), fc.constantFrom(groups, padded, toText(address)))
    .chain(([prefix, tail]) => {
      const text = `${prefix}${tail}`;
      return fc.constantFrom(
        text,
        text.toUpperCase(),
        text.replace(/^\w+/, (group) => group.padStart(4, "0")),
      );
    })
    .map((text) => `[${text}]`);
}

/** Judged by the embedded IPv4 address. */
export const JUDGED_PREFIXES = ["::ffff:", "0:0:0:0:0:ffff:", "64:ff9b::", "64:ff9b:0:0:0:0:"];

/**
 * Rejected whatever is embedded: compatible, SIIT, local NAT64, 6to4, Teredo, link-local, private.
 */
export const REFUSED_PREFIXES = [
  "::",
  "::ffff:0:",
  "64:ff9b:1::",
  "64:ff9b:1:ffff::",
  "2002::",
  "2001::",
  "2001:db8::",
  "3fff::",
  "fe80::",
  "fd00::",
  "fec0::",
  "ff02::",
  "100::",
  "5f00::",
];
