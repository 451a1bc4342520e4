import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isPublicAddress, parseAddress } from "./address.ts";
import { SPECIAL_RANGES, isSpecial, publicAddress, toNumber, toText } from "./spellings.suite.ts";

function isPublic(text: string): boolean {
  const address = parseAddress(text);
  if (address === undefined) throw new Error(`${text} is not an address`);
  return isPublicAddress(address);
}

describe("a special IPv4 range is rejected from end to end, and no further", () => {
  for (const [first, last] of SPECIAL_RANGES) {
    test(`${first} to ${last}`, () => {
      const before = toNumber(first) - 1;
      const after = toNumber(last) + 1;

      expect(isPublic(first)).toBe(false);
      expect(isPublic(last)).toBe(false);
      if (before > 0) expect(isPublic(toText(before))).toBe(!isSpecial(before));
      if (after <= 0xffff_ffff) expect(isPublic(toText(after))).toBe(!isSpecial(after));
    });
  }
});

test("an IPv4 address is public exactly if it is in no special range", () => {
  fc.assert(
    fc.property(fc.oneof(fc.integer({ min: 0, max: 0xffff_ffff }), publicAddress), (address) => {
      expect(isPublic(toText(address))).toBe(!isSpecial(address));
    }),
    { numRuns: 700 },
  );
});

describe("of IPv6", () => {
  for (const text of [
    "2600::1",
    "2001:200::",
    "2001:4860:4860::8888",
    "2001:db7:ffff::1",
    "2001:db9::1",
    "2003::1",
    "2a00:1450:4001::1",
    "3ffe:ffff::1",
    "3fff:1000::1",
    "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "64:ff9b::808:808",
  ]) {
    test(`${text} is public`, () => {
      expect(isPublic(text)).toBe(true);
    });
  }

  for (const text of [
    "::",
    "::1",
    "::7f00:1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:0:8.8.8.8",
    "64:ff9b::10.0.0.1",
    "64:ff9b:0:0:0:1:8.8.8.8",
    "64:ff9b:1::8.8.8.8",
    "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
    "100::1",
    "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001::1",
    "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:808:808::",
    "3fff::1",
    "3fff:fff:ffff::1",
    "4000::",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
  ]) {
    test(`${text} is rejected`, () => {
      expect(isPublic(text)).toBe(false);
    });
  }
});

test("an address with a zone, or with missing parts, is invalid", () => {
  for (const text of [
    "fe80::1%eth0",
    "2600::1%1",
    "127.1",
    "010.0.0.1",
    "localhost",
    "",
    "1::2::3",
  ])
    expect(parseAddress(text), text).toBeUndefined();
});
