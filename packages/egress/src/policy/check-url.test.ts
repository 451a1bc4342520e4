import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createEgress } from "../create-egress.ts";
import { checkUrl, createUrlCheck } from "./check-url.ts";
import { createDestinationRule } from "./destination-rule.ts";
import { EgressError, type EgressReason } from "./egress-error.ts";
import {
  JUDGED_PREFIXES,
  publicAddress,
  specialAddress,
  spellingsOfIpv4,
  spellingsOfIpv6,
  toText,
} from "./spellings.suite.ts";

const egress = createEgress();

/** Why a URL is rejected, or `undefined` if it passes. */
function refusalOf(url: string, by = egress): EgressError | undefined {
  try {
    by.check(url);
    return undefined;
  } catch (error) {
    if (error instanceof EgressError) return error;
    throw error;
  }
}

describe("is rejected", () => {
  const refusals: readonly (readonly [string, EgressReason])[] = [
    ["", "malformed"],
    ["/webhook", "malformed"],
    ["example.com/webhook", "malformed"],
    ["http://", "malformed"],
    ["http://:80/", "malformed"],
    ["http://exa mple.com/", "malformed"],
    ["http://example.com:99999/", "malformed"],
    ["http://[fe80::1%25eth0]/", "malformed"],
    ["http://[2600::1%eth0]/", "malformed"],
    ["http://256.0.0.1/", "malformed"],
    ["http://1.2.3.4.5/", "malformed"],
    ["file:///etc/passwd", "scheme"],
    ["ftp://example.com/", "scheme"],
    ["ws://example.com/", "scheme"],
    ["data:text/plain,hello", "scheme"],
    ["javascript:alert(1)", "scheme"],
    ["example.com:80/webhook", "scheme"],
    ["https://me@example.com/", "userinfo"],
    ["https://me:secret@example.com/", "userinfo"],
    ["https://:secret@example.com/", "userinfo"],
    ["https://example.com@127.0.0.1/", "userinfo"],
    ["https://example.com%40127.0.0.1@10.0.0.1/", "userinfo"],
    ["http://@127.0.0.1/", "address"],
    ["http://127.0.0.1/", "address"],
    ["http:127.0.0.1", "address"],
    ["http:\\\\127.0.0.1\\", "address"],
    [" \thttp://127.0.0.1/", "address"],
    ["ht\ntp://127.0\t.0.1/", "address"],
    ["http://127.0.0.1./", "address"],
    ["http://127.1/", "address"],
    ["http://0/", "address"],
    ["http://2130706433/", "address"],
    ["http://017700000001/", "address"],
    ["http://0x7f000001/", "address"],
    ["http://0x7f.0.0.01/", "address"],
    ["http://①②⑦.0.0.1/", "address"],
    ["http://１２７。０。０。１/", "address"],
    ["http://%31%32%37.0.0.1/", "address"],
    ["http://[::1]/", "address"],
    ["http://[::ffff:127.0.0.1]/", "address"],
    ["http://[::ffff:a9fe:a9fe]/", "address"],
    ["http://[64:ff9b::169.254.169.254]/", "address"],
    ["http://169.254.169.254/latest/meta-data/", "address"],
    ["https://localhost/", "address"],
    ["https://LOCALHOST.:8443/", "address"],
    ["https://app.localhost/", "address"],
    ["https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "address"],
  ];
  for (const [url, reason] of refusals) {
    test(`${JSON.stringify(url)} for its ${reason}`, () => {
      expect(refusalOf(url)?.reason).toBe(reason);
    });
  }
});

describe("passes, and is what will be used", () => {
  for (const [url, href] of [
    ["https://example.com/webhook?key=1", "https://example.com/webhook?key=1"],
    ["HTTP://EXAMPLE.com:80", "http://example.com/"],
    ["https://bücher.example/", "https://xn--bcher-kva.example/"],
    ["https://example.com./", "https://example.com./"],
    ["http://0x08080808/", "http://8.8.8.8/"],
    ["http://[2606:4700::1111]:8080/", "http://[2606:4700::1111]:8080/"],
    ["https://localhost.example.com/", "https://localhost.example.com/"],
  ] as const) {
    test(url, () => {
      expect(egress.check(url).href).toBe(href);
    });
  }
});

describe("an error says what is wrong and what to do", () => {
  for (const [url, message] of [
    ["nonsense", "the URL cannot be parsed; write it in full, like https://example.com/webhook"],
    ["ftp://example.com/", 'the URL has the scheme "ftp"; use https or http'],
    [
      "https://me:secret@example.com/?key=secret",
      'the URL holds a user name or password for "example.com"; remove it and authenticate with a header',
    ],
    [
      "http://10.0.0.7:8080/?key=secret",
      '"10.0.0.7:8080" is not a public address; only the operator can permit it, with "10.0.0.7:8080" in the option allow',
    ],
  ] as const) {
    test(url, () => {
      expect(refusalOf(url)?.message).toBe(message);
    });
  }
});

const scheme = fc.constantFrom("http://", "https://", "HTTP://", "http:\\\\", "https:///");
const afterHost = fc.constantFrom("", "/", ":8080/", "/a?b=c", "?q", "#f", "\\x");

test("no notation of a special IPv4 address passes", () => {
  fc.assert(
    fc.property(specialAddress.chain(spellingsOfIpv4), scheme, afterHost, (host, before, after) => {
      expect(refusalOf(`${before}${host}${after}`)?.reason).toBe("address");
    }),
    { numRuns: 1000 },
  );
});

test("no IPv6 address that embeds a special IPv4 address passes", () => {
  const host = specialAddress.chain((address) => spellingsOfIpv6(address));
  fc.assert(
    fc.property(host, scheme, afterHost, (text, before, after) => {
      expect(refusalOf(`${before}${text}${after}`)?.reason).toBe("address");
    }),
    { numRuns: 700 },
  );
});

test("a user name hides no special address", () => {
  const name = fc.constantFrom("me", "me:you", "example.com", "8.8.8.8", "a%40b", ":x");
  fc.assert(
    fc.property(specialAddress.chain(spellingsOfIpv4), name, (host, user) => {
      expect(refusalOf(`http://${user}@${host}/`)?.reason).toBe("userinfo");
    }),
  );
});

test("every notation of a public IPv4 address passes, and becomes that address", () => {
  fc.assert(
    fc.property(
      publicAddress.chain((address) => fc.tuple(fc.constant(address), spellingsOfIpv4(address))),
      ([address, host]) => {
        expect(egress.check(`http://${host}/`).hostname).toBe(toText(address));
      },
    ),
    { numRuns: 1000 },
  );
});

test("a public IPv4 address passes in the IPv6 forms that lead to it", () => {
  fc.assert(
    fc.property(
      publicAddress.chain((address) => spellingsOfIpv6(address, JUDGED_PREFIXES)),
      (host) => {
        expect(refusalOf(`http://${host}/`)).toBeUndefined();
      },
    ),
  );
});

test("everything that passes is http or https, with a host and without a user", () => {
  fc.assert(
    fc.property(fc.oneof(fc.webUrl({ withQueryParameters: true }), fc.string()), (text) => {
      if (refusalOf(text) !== undefined) return;
      const { protocol, username, password, hostname } = egress.check(text);

      expect(["http:", "https:"]).toContain(protocol);
      expect(username + password).toBe("");
      expect(hostname).not.toBe("");
    }),
  );
});

test("a refusal names the setting of the operator, if it has another name", () => {
  const rule = createDestinationRule([], { setting: "push.allow (CONVOKE_PUSH_ALLOW)" });

  expect(() => checkUrl("http://10.0.0.7/", rule)).toThrow(
    'with "10.0.0.7" in push.allow (CONVOKE_PUSH_ALLOW)',
  );
});

test("a check that remembers URLs decides about each of many as it did before", () => {
  const check = createUrlCheck(createDestinationRule([]));

  for (let round = 0; round < 3; round++) {
    for (let place = 0; place < 100; place++) {
      const url = `https://example.com/${place}`;
      expect(check(url).href).toBe(url);
      expect(() => check(`http://127.0.0.1/${place}`)).toThrow(EgressError);
    }
  }
});
