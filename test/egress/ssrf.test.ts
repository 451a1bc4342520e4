import { createServer } from "node:net";
import fc, { type Arbitrary } from "fast-check";
import { createEgress } from "@convoke/egress";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startServer } from "../../packages/egress/src/connections/local-server.suite.ts";
import {
  specialAddress,
  spellingsOfIpv4,
  spellingsOfIpv6,
  toNumber,
  toText,
} from "../../packages/egress/src/policy/spellings.suite.ts";

/** Listens on every local address and counts connections. There must be none. */
const trap = createServer((socket) => {
  visitors += 1;
  socket.on("error", () => {});
  socket.end("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ntrap");
});
let visitors = 0;
let port = 0;

beforeAll(async () => {
  await new Promise<void>((resolve) => trap.listen(0, resolve));
  const address = trap.address();
  port = typeof address === "object" && address ? address.port : 0;
});
afterAll(() => void trap.close());

/** Addresses by which a machine reaches itself, and other addresses that are not public. */
const inside: Arbitrary<number> = fc.oneof(
  fc.constantFrom("127.0.0.1", "127.1.2.3", "0.0.0.0", "127.255.255.254").map(toNumber),
  specialAddress,
);

const spelled: Arbitrary<string> = fc.oneof(
  inside.chain(spellingsOfIpv4),
  inside.chain((address) => spellingsOfIpv6(address)),
  fc.constantFrom(
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "a.b.localhost.",
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
    "ｌｏｃａｌｈｏｓｔ",
    "loc\u00ADalhost",
    "%6c%6f%63alhost",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::]",
    "[::1%25lo]",
    "[fe80::1%25eth0]",
    "[fe80::1%eth0]",
    "[::ffff:127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
    "0",
    "127.1",
    "0x7f.1",
    "017700000001",
    "2130706433",
    "127.0.0.1.",
  ),
);

const url: Arbitrary<string> = fc
  .tuple(
    fc.constantFrom("http://", "https://", "HTTP://", "http:\\\\", "http:/", " http://"),
    fc.constantFrom("", "", "", "me@", "example.com@", "example.com:80@", "a%40b@"),
    spelled,
    fc.constantFrom("/", "", "/card.json?a=b", "#c", "\\d"),
  )
  .map(([scheme, user, host, rest]) => `${scheme}${user}${host}:${port}${rest}`);

/** All ways out at once. */
async function tryAll(egress: ReturnType<typeof createEgress>, target: string): Promise<void> {
  const attempts = await Promise.allSettled([
    egress.request({ url: target }),
    egress.request({ url: target, body: "{}" }),
    egress.post(target, { headers: {}, body: "{}", timeoutMs: 1000 }),
    egress.openHttp2(target),
  ]);
  for (const attempt of attempts) {
    expect(attempt).toMatchObject({
      status: "rejected",
      reason: { name: "EgressError", sent: false },
    });
  }
}

/** Every name resolves to the addresses. */
function resolvingTo(...addresses: readonly string[]) {
  return { connectTimeoutMs: 300, resolve: () => Promise.resolve(addresses) };
}

describe("no request reaches a private address", () => {
  test("with any notation of an address in a URL", async () => {
    await fc.assert(
      // Names would also lead there if they were resolved.
      fc.asyncProperty(url, (target) => tryAll(createEgress(resolvingTo("127.0.0.1")), target)),
      { numRuns: 150 },
    );

    expect(visitors).toBe(0);
  });

  test("with any address that a name resolves to", async () => {
    const address = fc.oneof(
      inside.map(toText),
      inside.chain((number) => spellingsOfIpv6(number)).map((text) => text.slice(1, -1)),
      fc.constantFrom("::1", "::", "fe80::1%lo", "::1%lo", "0", "127.1", "localhost"),
    );
    const host = fc.constantFrom(
      "evil.test",
      "evil.test.",
      "bücher.example",
      "127.0.0.1.nip.example",
      "localhost.evil.test",
      "0x7f000001.evil.test",
    );
    await fc.assert(
      fc.asyncProperty(host, address, (name, where) =>
        tryAll(createEgress(resolvingTo(where)), `http://${name}:${port}/`),
      ),
      { numRuns: 50 },
    );

    expect(visitors).toBe(0);
  });

  test("with a redirect, at any step of a chain", async () => {
    let steps: readonly string[] = [];
    const server = await startServer((response, { path = "" }) => {
      const location = steps[Number(path.slice(1))];
      if (location === undefined) response.end("home");
      else response.writeHead(302, { Location: location }).end();
    });
    // An allowed request must arrive, however busy the machine is.
    const patient = { ...resolvingTo("127.0.0.1"), connectTimeoutMs: 20_000 };
    const egress = createEgress({ trusted: [server.url], ...patient });
    const outcomes = new Set<string>();

    await fc.assert(
      fc.asyncProperty(fc.nat(4), url, async (hops, target) => {
        // As bytes, which is how headers carry non-ASCII characters.
        const location = Buffer.from(target).toString("latin1");
        steps = [...Array.from({ length: hops }, (_, place) => `/${place + 1}`), location];

        const attempt = egress.request({ url: `${server.url}/0` });

        const end = URL.canParse(location, server.url) ? new URL(location, server.url) : undefined;
        if (end === undefined) expect((await attempt).status).toBe(302);
        // Some that look like another address are paths of this one.
        else if (end.origin === server.url) expect((await attempt).status).toBe(200);
        else await expect(attempt).rejects.toMatchObject({ kind: "other-origin" });
        outcomes.add(end === undefined ? "none" : end.origin === server.url ? "home" : "away");
      }),
      { numRuns: 80 },
    );

    expect([...outcomes].toSorted()).toEqual(["away", "home", "none"]);
    expect(visitors).toBe(0);
  });

  test("next to an allowed origin", async () => {
    const server = await startServer();
    const egress = createEgress({
      trusted: [server.url, "http://example.com"],
      ...resolvingTo("127.0.0.1"),
    });

    await fc.assert(
      fc.asyncProperty(url, (target) => tryAll(egress, target)),
      { numRuns: 100 },
    );

    expect(visitors).toBe(0);
    expect(server.connections()).toBe(0);
  });
});

test("the trap works: an allowed request arrives", async () => {
  const before = visitors;
  const egress = createEgress({ trusted: [`http://localhost:${port}`] });

  for (const host of ["127.0.0.1", "localhost", "0x7f.1", "[::1]"]) {
    const answer = await egress.request({ url: `http://${host}:${port}/` });
    expect(answer.status).toBe(200);
  }

  expect(visitors - before).toBe(4);
  visitors = before;
});
