import { type Auth, type ConnectOptions, type RemoteAgent, connect } from "@convoke/client";
import { describe, expect, test } from "vitest";
import { type FakeAgent, type Reply, pagesV1, result, startFakeAgent } from "./fake-agent.ts";
import { type Recorder, startRecorder } from "./a-recorder.ts";
import { KINDS, tells } from "./auth-kinds.ts";

const CARD = "/.well-known/agent-card.json";
const GREETING = { message: { messageId: "m1", role: "ROLE_AGENT", parts: [{ text: "Hello" }] } };

/** Only the rule for credentials keeps them from the foreign server. */
const ALLOW = ["127.0.0.1", "localhost", "::1", "0.0.0.0"];

/** How a card may refer to a foreign port; `home` is the port of the agent that was given. */
const ADDRESSES: readonly (readonly [string, (there: number, home: number) => string])[] = [
  ["plainly", (there) => `http://127.0.0.1:${there}/`],
  ["with https", (there) => `https://127.0.0.1:${there}/`],
  ["with another name of the machine", (_, home) => `http://localhost:${home}/`],
  ["in upper case", (there) => `HTTP://LOCALHOST:${there}/`],
  ["relative to the scheme", (there) => `//127.0.0.1:${there}/`],
  ["behind a user name", (there, home) => `http://127.0.0.1:${home}@127.0.0.1:${there}/`],
  ["behind a user name and a password", (there) => `http://127.0.0.1:pw@127.0.0.1:${there}/`],
  ["before a backslash", (there, home) => `http://127.0.0.1:${there}\\@127.0.0.1:${home}/`],
  ["with tabs and blanks", (there) => ` ht\ttp://127.0.0.1:${there}/ `],
  ["in wide digits", (there) => `http://①②⑦.0.0.1:${there}/`],
  ["as a number", (there) => `http://2130706433:${there}/`],
  ["in hexadecimal", (there) => `http://0x7f.1:${there}/`],
  ["in IPv6", (there) => `http://[::ffff:127.0.0.1]:${there}/`],
  ["with a dot at the end", (_, home) => `http://127.0.0.1.:${home}/`],
  ["with dots in the path", (there) => `http://127.0.0.1:${there}/../../`],
];

const BINDINGS = ["JSONRPC", "HTTP+JSON", "GRPC"] as const;

interface Scene {
  readonly home: FakeAgent;
  readonly stranger: Recorder;
}

/** An agent whose card refers to the foreign server, and optionally to itself after it. */
async function aScene(
  address: (there: number, home: number) => string,
  more: { readonly after?: readonly object[]; readonly version?: string } = {},
): Promise<Scene> {
  const { after = [], version = "1.0" } = more;
  const stranger = await startRecorder();
  const home = await startFakeAgent({
    pages: Object.fromEntries(
      [CARD, `${CARD}?key=s3cr3t-0123456789`].map((path) => [
        path,
        (origin: string): Reply => {
          const url = address(stranger.port, Number(new URL(origin).port));
          const supportedInterfaces = [
            ...BINDINGS.map((protocolBinding) => ({
              url,
              protocolBinding,
              protocolVersion: version,
            })),
            ...after,
          ];
          return pagesV1({ supportedInterfaces })[CARD]?.(origin) ?? {};
        },
      ]),
    ),
    answer: (call) => result(call, GREETING),
  });
  return { home, stranger };
}

/** Makes every kind of call; their outcome does not matter here. */
async function useAll(url: string, options: ConnectOptions): Promise<RemoteAgent | undefined> {
  const remote = await connect(url, { allow: ALLOW, retry: false, ...options }).catch(
    () => undefined,
  );
  if (remote === undefined) return undefined;
  const never = { reconnect: false } as const;
  await Promise.allSettled([
    remote.send("a", never),
    remote.stream("a", never).result,
    remote.subscribe("t1", never).result,
    remote.get("t1"),
    remote.cancel("t1"),
    remote.list(),
    remote.push.list("t1"),
    remote.push.delete("t1", "c1"),
    remote.extendedCard(),
  ]);
  remote.close();
  return remote;
}

test("the foreign server records what is sent to it", async () => {
  const { home, stranger } = await aScene((there) => `http://127.0.0.1:${there}/`);

  await useAll(home.url, {});

  expect(stranger.heard).toContain("POST / HTTP/1.1");
});

describe.each(KINDS)("%s", (_, auth) => {
  test.each(ADDRESSES)(
    "are never sent to a foreign server that a card names %s",
    async (__, address) => {
      const { home, stranger } = await aScene(address);

      await useAll(home.url, { auth });
      await useAll(home.url, { auth, bindings: ["grpc", "rest", "jsonrpc"] });

      expect(home.seen.some(({ path, headers }) => tells(path + JSON.stringify(headers)))).toBe(
        true,
      );
      expect(tells(stranger.heard)).toBe(false);
      // The same server under another name is foreign as well.
      const elsewhere = home.seen.filter(
        ({ headers }) => headers["host"] !== new URL(home.url).host,
      );
      expect(tells(JSON.stringify(elsewhere))).toBe(false);
    },
  );

  test("are sent to the agent itself if a card has both", async () => {
    const after = [{ url: "/rpc", protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
    const { home, stranger } = await aScene((there) => `http://127.0.0.1:${there}/`, { after });

    const remote = await useAll(home.url, { auth });

    expect(remote?.url).toBe(`${home.url}/rpc`);
    expect(home.seen.filter(({ path }) => path.startsWith("/rpc")).length).toBeGreaterThan(0);
    expect(stranger.heard).toBe("");
  });

  test("never follow a redirect, of the card or of a call, with our own client or with fetch", async () => {
    const stranger = await startRecorder();
    const there = { Location: `http://127.0.0.1:${stranger.port}/` };
    for (const [cardStatus, callStatus] of [
      [302, 307],
      [200, 307],
      [200, 308],
      [200, 302],
    ] as const) {
      const home = await startFakeAgent({
        pages: Object.fromEntries(
          [CARD, `${CARD}?key=s3cr3t-0123456789`].map((path) => [
            path,
            (origin: string): Reply =>
              cardStatus === 200
                ? (pagesV1()[CARD]?.(origin) ?? {})
                : { status: cardStatus, headers: there },
          ]),
        ),
        answer: () => ({ status: callStatus, headers: there }),
      });

      await useAll(home.url, { auth });
      await useAll(home.url, { auth, fetch: globalThis.fetch, cache: false });

      expect(home.seen.length).toBeGreaterThan(1);
    }
    expect(tells(stranger.heard)).toBe(false);
  });

  test("are never sent to the URL of a card's keys", async () => {
    const stranger = await startRecorder();
    const jku = `http://127.0.0.1:${stranger.port}/keys`;
    const header = Buffer.from(JSON.stringify({ alg: "ES256", kid: "k", jku })).toString(
      "base64url",
    );
    const signatures = [{ protected: header, signature: "AAAA" }];
    const home = await startFakeAgent({
      pages: Object.fromEntries(
        [CARD, `${CARD}?key=s3cr3t-0123456789`].map((path) => [
          path,
          pagesV1({ signatures })[CARD]!,
        ]),
      ),
      answer: (call) => result(call, GREETING),
    });

    await useAll(home.url, { auth });
    await useAll(home.url, { auth, signatures: "require" });
    await useAll(home.url, { auth, jkuOrigins: [new URL(jku).origin] });

    expect(tells(stranger.heard)).toBe(false);
  });
});

test("credentials can be bound to another origin by name, and are then sent only there", async () => {
  const { home, stranger } = await aScene((there) => `http://127.0.0.1:${there}/`);
  const auth: Auth = {
    headers: { "X-Secret": "s3cr3t-0123456789" },
    origin: `http://127.0.0.1:${stranger.port}`,
  };

  await useAll(home.url, { auth });

  expect(tells(stranger.heard)).toBe(true);
  expect(tells(JSON.stringify(home.seen))).toBe(false);
});
