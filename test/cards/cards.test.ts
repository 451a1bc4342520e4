import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { defineAgent, serve } from "convoke";
import { type CardKey, generateCardKey, verifyCard } from "@convoke/protocol";
import { describe, expect, onTestFinished, test } from "vitest";
import { speakersTo } from "../conformance/speakers.ts";
import { memoryLogger } from "../engine/an-engine.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";

const agent = defineAgent({ name: "Plain", description: "Answers.", run: async () => "done" });
const CARD = ".well-known/agent-card.json";
const KEYS = ".well-known/jwks.json";

const plain = useServer(agent);

describe("a card", () => {
  verifies(
    "v1-S4",
    "has an ETag and a date, and is not sent again to a client that has it",
    async () => {
      const first = await fetch(plain.url + CARD);
      const etag = first.headers.get("etag") ?? "";
      const modified = first.headers.get("last-modified") ?? "";

      const byTag = await get(plain.url, { "if-none-match": etag });
      const byDate = await get(plain.url, { "if-modified-since": modified });
      const older = await get(plain.url, { "if-modified-since": "Thu, 01 Jan 2015 00:00:00 GMT" });
      const other = await get(plain.url, { "if-none-match": '"x"', "if-modified-since": modified });

      expect(first.headers.get("cache-control")).toContain("max-age");
      expect([byTag.status, byDate.status]).toEqual([304, 304]);
      expect([older.status, other.status]).toEqual([200, 200]);
    },
  );

  describe.each([
    ["hybrid", true, true],
    ["v1", true, false],
    ["v03", false, true],
  ] as const)("in the form %s", (form, has1, has03) => {
    const server = useServer(agent, { card: { form } });

    test("is the same for every request", async () => {
      for (const version of ["1.0", "0.3", undefined]) {
        const headers = version === undefined ? {} : { "a2a-version": version };
        const card = (await (await get(server.url, headers)).json()) as object;

        expect("supportedInterfaces" in card).toBe(has1);
        expect("protocolVersion" in card).toBe(has03);
      }
    });
  });
});

describe("behind a proxy", () => {
  const trusting = useServer(agent, { trustProxy: true, allowedHosts: ["agents.example.com"] });

  test.each([
    { "x-forwarded-proto": "https", "x-forwarded-host": "agents.example.com" },
    { forwarded: 'for=1.2.3.4;host="agents.example.com";proto=https, for=10.0.0.1' },
  ])("that is trusted, the card has the URL that the caller used: %j", async (headers) => {
    expect(await urlIn(trusting.url, headers)).toBe("https://agents.example.com");
  });

  test("a host that is not allowed is still rejected", async () => {
    const answer = await get(trusting.url, { "x-forwarded-host": "evil.example" });

    expect(answer.status).toBe(403);
  });

  test("that is not trusted, its headers are ignored", async () => {
    const headers = { "x-forwarded-proto": "https", "x-forwarded-host": "evil.example" };

    expect(`${await urlIn(plain.url, headers)}/`).toBe(plain.url);
  });
});

describe("the interfaces of a card", () => {
  const server = useServer(agent, {
    card: { bindings: ["GRPC", "JSONRPC"], grpcUrl: "https://grpc.example.com:443/agents/one" },
  });

  test("are the configured ones, in their order, with the address of gRPC", async () => {
    const current = await get(server.url, { "a2a-version": "1.0" });
    const old = await get(server.url, { "a2a-version": "0.3" });

    const url = "https://grpc.example.com:443/agents/one";
    const base = server.url.replace(/\/$/, "");
    expect(await current.json()).toMatchObject({
      supportedInterfaces: [
        { url, protocolBinding: "GRPC", protocolVersion: "1.0" },
        { url: base, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
        { url, protocolBinding: "GRPC", protocolVersion: "0.3" },
        { url: base, protocolBinding: "JSONRPC", protocolVersion: "0.3" },
      ],
    });
    expect(await old.json()).toMatchObject({ url, preferredTransport: "GRPC" });
  });

  test.each(["", "/agents/one"])("gRPC is served under %j", async (basePath) => {
    const session = connectHttp2(server.url);
    onTestFinished(() => session.destroy());
    const stream = session.request({
      ":method": "POST",
      ":path": `${basePath}/lf.a2a.v1.A2AService/GetTask`,
      "content-type": "application/grpc",
    });
    stream.end(Buffer.from([0, 0, 0, 0, 3, 18, 1, 120]));
    const [trailers] = (await once(stream.resume(), "trailers")) as [Record<string, unknown>];

    // NOT_FOUND: the method was found, and the task x was not.
    expect(trailers["grpc-status"]).toBe("5");
  });

  verifies("v1-S66", "that do not exist are rejected when the server starts", async () => {
    const logger = memoryLogger();
    const retention = { everyMs: 1 };
    const card = { bindings: ["SOAP" as "GRPC"] };

    const started = serve(agent, { port: 0, data: "memory", card, logger, retention });

    await expect(started).rejects.toThrow(
      'card.bindings must be some of JSONRPC, HTTP+JSON, GRPC, not "SOAP"',
    );
    // Nothing of the server runs on, such as the retention.
    await sleep(50);
    expect(logger.lines).toEqual([]);
  });
});

describe("what defineAgent says about an agent", () => {
  const shown = {
    provider: { organization: "Acme", url: "https://acme.example" },
    documentationUrl: "https://acme.example/docs",
    iconUrl: "https://acme.example/icon.png",
  };
  const server = useServer(
    defineAgent({ name: "shown", description: "Shown.", ...shown, run: () => "hi" }),
  );

  test.each(["0.3", "1.0"])("is on the card of %s", async (version) => {
    const answer = await get(server.url, { "a2a-version": version });

    expect(await answer.json()).toMatchObject(shown);
  });
});

describe("an extended card", () => {
  const extended = useServer(agent, {
    authenticate: () => ({ owner: "ann" }),
    extendedCard: ({ owner }) => ({
      description: `For ${owner} alone.`,
      skills: [{ id: "secret", name: "Secret", description: "A skill for friends.", tags: ["x"] }],
    }),
  });

  describe.each(speakersTo(extended))("over $binding $version", (speaker) => {
    verifies("R19", "tells the caller what the public one does not", async () => {
      const card = (await speaker.call("getExtendedCard", {})) as Record<string, unknown>;

      expect(card["description"]).toBe("For ann alone.");
      expect(JSON.stringify(card["skills"])).toContain("A skill for friends.");
    });
  });

  const guarded = useServer(agent, {
    token: "right",
    extendedCard: ({ owner }) => ({ description: `For ${owner} alone.` }),
  });

  describe.each([
    ["agent/getAuthenticatedExtendedCard"],
    ["agent/authenticatedExtendedCard"],
    ["GetExtendedAgentCard"],
  ])("via %s", (method) => {
    verifies(
      ["R19", "seed-C16", "v1-S57", "v03-S2", "v03-S20"],
      "is for callers who show their token, and for nobody else",
      async () => {
        const ask = (headers: Record<string, string>): Promise<Response> =>
          fetch(guarded.url, {
            method: "POST",
            headers: { "content-type": "application/json", ...headers },
            body: JSON.stringify({ jsonrpc: "2.0", id: 1, method }),
          });

        const refused = await ask({});
        const told = await ask({ authorization: "Bearer right" });

        expect(refused.status).toBe(401);
        expect(await told.json()).toMatchObject({ result: { description: "For token alone." } });
      },
    );
  });

  test("is declared by the public card, in both versions", async () => {
    const card = (await (await get(extended.url, {})).json()) as Record<string, unknown>;

    expect(card["supportsAuthenticatedExtendedCard"]).toBe(true);
    expect(card["capabilities"]).toMatchObject({ extendedAgentCard: true });
    expect(card["description"]).toBe("Answers.");
  });
});

describe("a signed card", async () => {
  const { kid, privateKey } = await generateCardKey();
  const key: CardKey = { kid, alg: "ES256", privateKey };
  const signed = useServer(agent, { card: { keys: [key] } });

  verifies(
    "v1-S61",
    "verifies with the keys that its server publishes, and not after a change",
    async () => {
      const keySet = await (await fetch(signed.url + KEYS)).json();
      const { keys } = keySet as { keys: JsonWebKey[] };
      for (const headers of [{ "a2a-version": "1.0" }, {}]) {
        const card = (await (await get(signed.url, headers)).json()) as object;

        expect(await verifyCard(card, { keys })).toMatchObject({ kind: "valid", kid });
        const changed = { ...card, description: "Something else." };
        expect((await verifyCard(changed, { keys })).kind).toBe("invalid");
      }
      expect(JSON.stringify(keySet)).not.toContain('"d"');
    },
  );

  test("in 0.3 only has no signature, because 0.3 does not define what one covers", async () => {
    const card = (await (await get(signed.url, { "a2a-version": "0.3" })).json()) as object;

    expect(card).not.toHaveProperty("signatures");
  });

  verifies("sdk-p8", "is the same bytes each time, so that its ETag stays valid", async () => {
    const tags = [];
    for (let count = 0; count < 3; count++)
      tags.push((await get(signed.url, {})).headers.get("etag"));

    expect(new Set(tags).size).toBe(1);
  });
});

function get(url: string, headers: Record<string, string>): Promise<Response> {
  return fetch(url + CARD, { headers });
}

async function urlIn(url: string, headers: Record<string, string>): Promise<string> {
  return ((await (await get(url, headers)).json()) as { url: string }).url;
}
