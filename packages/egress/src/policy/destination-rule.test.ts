import { describe, expect, test } from "vitest";
import { createDestinationRule } from "./destination-rule.ts";

const INSIDE = "10.1.2.3";

function mayReach(entry: string, url: string, address = INSIDE): boolean {
  return createDestinationRule([entry])(new URL(url), address);
}

describe("allows requests to", () => {
  for (const [entry, url, address] of [
    ["hooks.internal", "http://hooks.internal/", INSIDE],
    ["hooks.internal", "https://hooks.internal:8443/", "169.254.169.254"],
    ["Hooks.Internal", "http://hooks.internal./", "::1"],
    ["hooks.internal.", "http://HOOKS.internal/", INSIDE],
    ["bücher.internal", "http://xn--bcher-kva.internal/", INSIDE],
    ["hooks.internal:8080", "http://hooks.internal:8080/", INSIDE],
    ["hooks.internal:80", "http://hooks.internal/", INSIDE],
    ["hooks.internal:443", "https://hooks.internal/", INSIDE],
    ["*.example.internal", "http://a.example.internal/", INSIDE],
    ["*.example.internal", "http://a.b.example.internal/", INSIDE],
    ["*.example.internal:8080", "http://a.example.internal:8080/", INSIDE],
    ["10.1.2.3", "http://10.1.2.3/", INSIDE],
    ["10.1.2.3", "http://any.example/", INSIDE],
    ["10.1.2.3:8080", "http://10.1.2.3:8080/", INSIDE],
    ["10.1.2.3", "http://any.example/", "::ffff:10.1.2.3"],
    ["10.0.0.0/8", "http://any.example/", INSIDE],
    ["10.0.0.0/8", "http://any.example/", "64:ff9b::10.1.2.3"],
    ["::1", "http://[::1]:3000/", "::1"],
    ["0:0:0:0:0:0:0:1", "http://[::1]:3000/", "::1"],
    ["[::1]:3000", "http://[::1]:3000/", "::1"],
    ["fd00::/8", "http://any.example/", "fd12:3456::1"],
    ["64:ff9b:1::/48", "http://any.example/", "64:ff9b:1::10.1.2.3"],
    ["64:ff9b::/96", "http://any.example/", "64:ff9b::10.1.2.3"],
    ["0.0.0.0/0", "http://any.example/", "127.0.0.1"],
  ] as const) {
    test(`${entry}: ${url} at ${address}`, () => {
      expect(mayReach(entry, url, address)).toBe(true);
    });
  }
});

describe("still rejects requests to", () => {
  for (const [entry, url, address] of [
    ["hooks.internal", "http://other.internal/", INSIDE],
    ["hooks.internal", "http://a.hooks.internal/", INSIDE],
    ["hooks.internal", "http://hooks.internal.evil.example/", INSIDE],
    ["hooks.internal:8080", "http://hooks.internal/", INSIDE],
    ["hooks.internal:80", "https://hooks.internal/", INSIDE],
    ["*.example.internal", "http://example.internal/", INSIDE],
    ["*.example.internal", "http://evilexample.internal/", INSIDE],
    ["*.example.internal:8080", "http://a.example.internal/", INSIDE],
    ["10.1.2.3", "http://10.1.2.4/", "10.1.2.4"],
    ["10.1.2.3:8080", "http://10.1.2.3:8081/", INSIDE],
    ["10.0.0.0/8", "http://any.example/", "127.0.0.1"],
    ["10.1.2.0/24", "http://any.example/", "10.1.3.0"],
    ["::/0", "http://any.example/", "127.0.0.1"],
    ["0.0.0.0/0", "http://any.example/", "::1"],
    ["fd00::/8", "http://any.example/", "fe80::1"],
    ["hooks.internal", "http://hooks.internal/", "fe80::1%eth0"],
    ["hooks.internal", "http://hooks.internal/", "not an address"],
  ] as const) {
    test(`${entry}: ${url} at ${address}`, () => {
      expect(mayReach(entry, url, address)).toBe(false);
    });
  }
});

describe("cannot be parsed", () => {
  for (const entry of [
    "",
    " ",
    "*",
    "*.",
    "*.10.0.0.1",
    "*.*.internal",
    "a.*.internal",
    "http://hooks.internal",
    "hooks.internal/path",
    "hooks.internal:",
    "hooks.internal:0",
    "hooks.internal:65536",
    "hooks.internal:http",
    "me@hooks.internal",
    "hooks internal",
    "10.0.0",
    "0x0a000001",
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/",
    "10.0.0/8",
    "10.0.0.0/8:80",
    "fd00::/129",
    "fe80::1%eth0",
    "[::1",
    "hooks.internal/8",
  ]) {
    test(JSON.stringify(entry), () => {
      expect(() => createDestinationRule(["fine.internal", entry])).toThrow(
        `egress: cannot read the allow entry ${JSON.stringify(entry)}; write a host`,
      );
    });
  }
});

function mayReachTrusted(trusted: string, url: string, address = "10.1.2.3"): boolean {
  return createDestinationRule([], { trusted: [trusted] })(new URL(url), address);
}

describe("a trusted origin may be at any address", () => {
  for (const [trusted, url, address] of [
    ["http://agent.internal:4000/base", "http://agent.internal:4000/other", "10.1.2.3"],
    ["http://agent.internal", "http://AGENT.internal.:80/", "169.254.169.254"],
    ["https://agent.internal/", "https://agent.internal:443/", "::1"],
    ["http://10.1.2.3:4000", "http://10.1.2.3:4000/", "10.1.2.3"],
    ["http://0x7f.1:4000", "http://127.0.0.1:4000/", "127.0.0.1"],
    ["http://127.0.0.1:4000", "http://localhost:4000/", "127.0.0.1"],
    ["http://127.0.0.1:4000", "http://[::1]:4000/", "::1"],
    ["http://localhost:4000", "http://127.0.0.1:4000/", "127.0.0.1"],
    ["https://[::1]:4000", "https://localhost.:4000/", "::1"],
  ] as const) {
    test(`${trusted}: ${url} at ${address}`, () => {
      expect(mayReachTrusted(trusted, url, address)).toBe(true);
    });
  }
});

describe("and no other origin may", () => {
  for (const [trusted, url, address] of [
    ["http://agent.internal:4000", "http://agent.internal:4001/", "10.1.2.3"],
    ["http://agent.internal:4000", "https://agent.internal:4000/", "10.1.2.3"],
    ["http://agent.internal:4000", "http://other.internal:4000/", "10.1.2.3"],
    ["http://agent.internal:4000", "http://a.agent.internal:4000/", "10.1.2.3"],
    ["http://10.1.2.3:4000", "http://any.example:4000/", "10.1.2.3"],
    ["http://127.0.0.1:4000", "http://127.0.0.2:4000/", "127.0.0.2"],
    ["http://127.0.0.1:4000", "http://[::ffff:127.0.0.1]:4000/", "::ffff:7f00:1"],
    ["http://127.0.0.1:4000", "http://any.example:4000/", "127.0.0.1"],
    ["http://127.0.0.1:4000", "http://localhost:4001/", "127.0.0.1"],
    ["http://127.0.0.1:4000", "https://localhost:4000/", "127.0.0.1"],
    ["http://localhost:4000", "http://app.localhost:4000/", "127.0.0.1"],
    ["https://example.com", "http://127.0.0.1/", "127.0.0.1"],
    ["http://agent.internal", "http://agent.internal/", "fe80::1%eth0"],
  ] as const) {
    test(`${trusted}: ${url} at ${address}`, () => {
      expect(mayReachTrusted(trusted, url, address)).toBe(false);
    });
  }
});

test("an invalid entry is rejected with the entry and the fix", () => {
  for (const entry of ["", "localhost:4000", "127.0.0.1", "ftp://agent.internal", "http://"]) {
    expect(() => createDestinationRule([], { trusted: [entry] })).toThrow(
      `egress: cannot read the trusted URL ${JSON.stringify(entry)}; write it in full, like http://127.0.0.1:4000`,
    );
  }
});
