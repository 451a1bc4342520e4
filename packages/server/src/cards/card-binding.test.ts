import { BEARER_SECURITY } from "@convoke/protocol";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { anAgentInfo } from "./an-agent-info.suite.ts";
import { CARD_PATHS, CardBinding, cardFacts } from "./card-binding.ts";
import { aRequest } from "../http/a-request.suite.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";

type Card = Readonly<Record<string, unknown>>;

function aBinding(options: Partial<Parameters<typeof cardFacts>[1]> = {}): CardBinding {
  const address = { host: "127.0.0.1", port: 3000 };
  return new CardBinding(cardFacts({ info: anAgentInfo() }, { address, ...options }));
}

function cardOf({ body }: HttpResponse): Card {
  return JSON.parse(body as string) as Card;
}

/** A request for the form of one version, or for the hybrid. */
function asking(version?: string, headers: HttpRequest["headers"] = {}): HttpRequest {
  const named = version === undefined ? {} : { "a2a-version": version };
  return aRequest({ headers: { host: "localhost:3000", ...named, ...headers } });
}

verifies("R79", "the card is at the current path and at the older one", async () => {
  expect([...CARD_PATHS]).toEqual(["/.well-known/agent-card.json", "/.well-known/agent.json"]);
});

describe("the three forms", () => {
  verifies(["R79", "R80"], "a request for 1.0 gets only that", async () => {
    const card = cardOf(await aBinding().handle(asking("1.0")));

    expect(card).toMatchObject({
      name: "Greeter",
      version: "1.0.0",
      capabilities: { streaming: true, pushNotifications: false },
      skills: [{ id: "greet", name: "Greet", tags: ["demo"] }],
      supportedInterfaces: ["1.0", "0.3"].flatMap((protocolVersion) => [
        { url: "http://127.0.0.1:3000", protocolBinding: "JSONRPC", protocolVersion },
        { url: "http://127.0.0.1:3000", protocolBinding: "HTTP+JSON", protocolVersion },
        { url: "127.0.0.1:3000", protocolBinding: "GRPC", protocolVersion },
      ]),
    });
    expect(card).not.toHaveProperty("url");
    expect(card).not.toHaveProperty("protocolVersion");
    expect(card).not.toHaveProperty("preferredTransport");
  });

  verifies(["R79", "R80"], "a request for 0.3 gets only that", async () => {
    const card = cardOf(await aBinding().handle(asking("0.3")));

    expect(card).toMatchObject({
      protocolVersion: "0.3.0",
      name: "Greeter",
      version: "1.0.0",
      url: "http://127.0.0.1:3000",
      preferredTransport: "JSONRPC",
      capabilities: { streaming: true, pushNotifications: false },
      skills: [{ id: "greet", name: "Greet", tags: ["demo"] }],
    });
    expect(card).not.toHaveProperty("supportedInterfaces");
  });

  verifies("R79", "a request without a version gets one that both versions can read", async () => {
    const binding = aBinding();

    const card = cardOf(await binding.handle(asking()));

    expect(card).toMatchObject(cardOf(await binding.handle(asking("1.0"))));
    expect(card).toMatchObject(cardOf(await binding.handle(asking("0.3"))));
  });

  test("a version in the query counts too", async () => {
    const query = new URLSearchParams({ "A2A-Version": "0.3" });

    const card = cardOf(await aBinding().handle(aRequest({ query })));

    expect(card).not.toHaveProperty("supportedInterfaces");
  });

  test("an unsupported version is an error, not a guess", async () => {
    await expect(aBinding().handle(asking("99.0"))).rejects.toThrow("Version not supported");
  });
});

describe("caches", () => {
  test("have headers that say that the response varies by version, and for how long it is valid", async () => {
    const { status, headers } = await aBinding().handle(asking());

    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "content-type": "application/json",
      vary: "A2A-Version",
      "cache-control": "public, max-age=300",
      "access-control-allow-origin": "*",
    });
  });

  test("each form has its own ETag, the same one every time", async () => {
    const binding = aBinding();
    const tagOf = async (version?: string) =>
      (await binding.handle(asking(version))).headers["etag"];

    const all = () => Promise.all([tagOf(), tagOf("0.3"), tagOf("1.0")]);
    const tags = await all();

    expect(new Set(tags).size).toBe(3);
    expect(await all()).toEqual(tags);
    for (const tag of tags) expect(tag).toMatch(/^"[\w-]+"$/);
  });

  for (const [what, dress] of [
    ["an ETag", (tag: string) => tag],
    ["an ETag that a proxy made weak", (tag: string) => `W/${tag}`],
    ["a list of ETags", (tag: string) => `"other", ${tag}`],
  ] as const) {
    test(`a client that has the card and sends ${what} gets no body`, async () => {
      const binding = aBinding();
      const tag = (await binding.handle(asking("1.0"))).headers["etag"] ?? "";

      const answer = await binding.handle(asking("1.0", { "if-none-match": dress(tag) }));

      expect(answer).toMatchObject({ status: 304, body: "", headers: { etag: tag } });
      expect(answer.headers["vary"]).toBe("A2A-Version");
    });
  }

  test("a client that has another form, or an older card, gets this one", async () => {
    const binding = aBinding();
    const tag = (await binding.handle(asking("1.0"))).headers["etag"] ?? "";

    expect((await binding.handle(asking("0.3", { "if-none-match": tag }))).status).toBe(200);
    expect((await binding.handle(asking("1.0", { "if-none-match": '"older"' }))).status).toBe(200);
  });
});

test("of several servers with one address, only the ETag of a request counts: each has its own dates", async () => {
  const address = { host: "127.0.0.1", port: 3000 };
  const [one, other] = [1, 2].map(
    () => new CardBinding(cardFacts({ info: anAgentInfo() }, { address }), {}, true),
  );
  const { etag, "last-modified": date } = (await one!.handle(asking())).headers;
  const statusBy = async (headers: HttpRequest["headers"]) =>
    (await other!.handle(asking(undefined, headers))).status;

  expect(await statusBy({ "if-none-match": etag })).toBe(304);
  expect(await statusBy({ "if-modified-since": date })).toBe(200);
});

describe("an agent that changes its card data", () => {
  const START = Date.parse("2026-01-01T00:00:00.000Z");

  /** A card that was read once, before the agent changed. */
  async function aChange(change: { readonly name: string; readonly afterMs: number }) {
    vi.useFakeTimers({ now: START, toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const agent = { info: anAgentInfo() };
    const address = { host: "127.0.0.1", port: 3000 };
    const binding = new CardBinding(cardFacts(agent, { address }));
    const before = await binding.handle(asking());
    vi.setSystemTime(START + change.afterMs);
    agent.info = anAgentInfo({ name: change.name });
    const after = await binding.handle(asking());
    return {
      before,
      after,
      statusBy: async (headers: HttpRequest["headers"]) =>
        (await binding.handle(asking(undefined, headers))).status,
    };
  }

  test("has a new card, also for a client that has the old one", async () => {
    const { before, after, statusBy } = await aChange({ name: "Changed", afterMs: 1000 });

    expect(cardOf(after)).toMatchObject({ name: "Changed" });
    expect(after.headers["last-modified"]).toBe("Thu, 01 Jan 2026 00:00:01 GMT");
    for (const [{ headers }, status] of [
      [before, 200],
      [after, 304],
    ] as const) {
      expect(await statusBy({ "if-none-match": headers["etag"] })).toBe(status);
      expect(await statusBy({ "if-modified-since": headers["last-modified"] })).toBe(status);
    }
  });

  test("within a second has two cards with the same date, which is then ignored", async () => {
    const { before, after, statusBy } = await aChange({ name: "Changed", afterMs: 10 });
    const date = before.headers["last-modified"];

    expect(after.headers["last-modified"]).toBe(date);
    expect(await statusBy({ "if-modified-since": date })).toBe(200);
    expect(await statusBy({ "if-none-match": after.headers["etag"] })).toBe(304);
  });

  test("to the same data has the same card", async () => {
    const { before, after } = await aChange({ name: "Greeter", afterMs: 1000 });

    expect(after).toEqual(before);
  });
});

describe("a token", () => {
  verifies("R115", "is declared in every form if callers need one", async () => {
    const binding = aBinding({ security: BEARER_SECURITY });

    const hybrid = cardOf(await binding.handle(asking()));

    expect(cardOf(await binding.handle(asking("0.3")))).toMatchObject({
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      security: [{ bearer: [] }],
    });
    expect(cardOf(await binding.handle(asking("1.0")))).toMatchObject({
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "bearer" } } },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    });
    expect(hybrid).toHaveProperty("security");
    expect(hybrid).toHaveProperty("securityRequirements");
  });

  verifies("R115", "is not declared if none is needed", async () => {
    for (const version of [undefined, "0.3", "1.0"]) {
      const { body } = await aBinding().handle(asking(version));

      expect(body).not.toContain("security");
    }
  });
});

describe("a server that listens on all addresses", () => {
  const everywhere = { address: { host: "0.0.0.0", port: 3000 } };

  test("gives each caller a URL that leads back to it, and never 0.0.0.0", async () => {
    const binding = aBinding(everywhere);

    for (const host of ["localhost:3000", "box.local:3000"]) {
      for (const version of [undefined, "0.3", "1.0"]) {
        const { body } = await binding.handle(asking(version, { host }));

        expect(body).toContain(`"http://${host}"`);
        expect(body).not.toContain("0.0.0.0");
      }
    }
  });

  test("gives the right URL after callers used very many", async () => {
    const binding = aBinding(everywhere);
    for (let port = 1; port <= 1000; port++) {
      await binding.handle(asking("1.0", { host: `localhost:${port}` }));
    }

    const { body } = await binding.handle(asking("1.0", { host: "localhost:7" }));

    expect(body).toContain('"http://localhost:7"');
  });
});
