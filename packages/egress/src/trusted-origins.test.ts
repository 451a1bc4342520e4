import { describe, expect, test } from "vitest";
import { createDestinationRule } from "./destination-rule.ts";

function mayReach(trusted: string, url: string, address = "10.1.2.3"): boolean {
  return createDestinationRule([], [trusted])(new URL(url), address);
}

describe("an origin that was given may be anywhere", () => {
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
      expect(mayReach(trusted, url, address)).toBe(true);
    });
  }
});

describe("and no other may", () => {
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
      expect(mayReach(trusted, url, address)).toBe(false);
    });
  }
});

test("what cannot be read is refused with the entry and the fix", () => {
  for (const entry of ["", "localhost:4000", "127.0.0.1", "ftp://agent.internal", "http://"]) {
    expect(() => createDestinationRule([], [entry])).toThrow(
      `egress: cannot read the trusted URL ${JSON.stringify(entry)}; write it in full, like http://127.0.0.1:4000`,
    );
  }
});
