import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { anAgentInfo } from "./an-agent-info.suite.ts";
import { cardFacts, extendedExtensions } from "./card-binding.ts";
import { aRequest } from "../http/a-request.suite.ts";

const OPEN = [{ uri: "urn:open:1", required: true }, { uri: "urn:open:2" }];

test("an extended card has the fields of the public one, and its additions", () => {
  expect(extendedExtensions(OPEN, [{ uri: "urn:friends:1" }])).toEqual([
    ...OPEN,
    { uri: "urn:friends:1" },
  ]);
  expect(extendedExtensions(OPEN)).toEqual(OPEN);
  expect(extendedExtensions()).toEqual([]);
});

test("it may add fields to an extension of the public card", () => {
  const told = { uri: "urn:open:2", params: { limit: 5 } };

  expect(extendedExtensions(OPEN, [told])).toEqual([OPEN[0], told]);
});

test("it cannot require what the public card does not", () => {
  expect(extendedExtensions(OPEN, [{ uri: "urn:open:1", required: true }])).toHaveLength(2);
  for (const uri of ["urn:open:2", "urn:friends:1"]) {
    expect(() => extendedExtensions(OPEN, [{ uri, required: true }])).toThrow(
      `the extended card must not require ${uri}`,
    );
  }
});

test("its additions are validated like the rest", () => {
  expect(() => extendedExtensions(OPEN, [{ uri: "friends" }])).toThrow("must be an absolute URI");
});

const AGENT = { info: anAgentInfo() };

/** The URLs on the card for a request with a host. */
function urlsFor(
  options: Parameters<typeof cardFacts>[1],
  host = "localhost:3000",
): readonly string[] {
  const { interfaces } = cardFacts(AGENT, options)(aRequest({ headers: { host } }));
  // gRPC is called by host and port.
  return interfaces.filter(({ binding }) => binding !== "GRPC").map(({ url }) => url);
}

verifies("R125", "the card has the URL where the server listens, for every caller", () => {
  const urls = urlsFor({ address: { host: "127.0.0.1", port: 4000 } }, "localhost:1");

  expect(new Set(urls)).toEqual(new Set(["http://127.0.0.1:4000"]));
});

test("an IPv6 address is put in brackets", () => {
  expect(urlsFor({ address: { host: "::1", port: 4000 } })[0]).toBe("http://[::1]:4000");
});

describe("a server that listens on all addresses", () => {
  for (const host of ["0.0.0.0", "::", ""]) {
    test(`uses the requested host, not ${JSON.stringify(host)}`, () => {
      const urls = urlsFor({ address: { host, port: 4000 } }, "box.local:4000");

      expect(new Set(urls)).toEqual(new Set(["http://box.local:4000"]));
    });

    test(`prefers its public URL to ${JSON.stringify(host)}`, () => {
      const publicUrl = "https://agents.example.com/";

      const urls = urlsFor({ address: { host, port: 4000 }, publicUrl }, "box.local:4000");

      expect(new Set(urls)).toEqual(new Set(["https://agents.example.com"]));
    });
  }
});

test("both versions are offered, the newer one first", () => {
  const { interfaces } = cardFacts(AGENT, { address: { host: "127.0.0.1", port: 1 } })(aRequest());

  expect(interfaces.map(({ binding, version }) => `${binding} ${version}`)).toEqual([
    "JSONRPC 1.0",
    "HTTP+JSON 1.0",
    "GRPC 1.0",
    "JSONRPC 0.3",
    "HTTP+JSON 0.3",
    "GRPC 0.3",
  ]);
  expect(interfaces[2]?.url).toBe("127.0.0.1:1");
});

test("each tenant has its own URLs in 1.0, with its name", () => {
  const address = { host: "127.0.0.1", port: 1 };
  const { interfaces } = cardFacts(AGENT, { address, tenants: ["acme"] })(aRequest());

  expect(interfaces.filter(({ tenant }) => tenant === "acme")).toHaveLength(3);
});
