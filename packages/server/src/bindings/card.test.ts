import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { anAgentInfo } from "../an-agent-info.suite.ts";
import { cardFacts } from "../card-facts.ts";
import { aRequest } from "../http/a-request.suite.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { CARD_PATHS, CardBinding } from "./card.ts";

type Card = Readonly<Record<string, unknown>>;

function aBinding(options: Partial<Parameters<typeof cardFacts>[1]> = {}): CardBinding {
  const address = { host: "127.0.0.1", port: 3000 };
  return new CardBinding(cardFacts(anAgentInfo(), { address, ...options }));
}

function cardOf({ body }: HttpResponse): Card {
  return JSON.parse(body as string) as Card;
}

/** A request for the form of one version, or for the hybrid. */
function asking(version?: string, headers: HttpRequest["headers"] = {}): HttpRequest {
  const named = version === undefined ? {} : { "a2a-version": version };
  return aRequest({ headers: { host: "localhost:3000", ...named, ...headers } });
}

verifies("R79", "the card is at today's path and at the older one", () => {
  expect([...CARD_PATHS]).toEqual(["/.well-known/agent-card.json", "/.well-known/agent.json"]);
});

describe("the three forms", () => {
  verifies(["R79", "R80"], "who asks for 1.0 gets that alone", () => {
    const card = cardOf(aBinding().handle(asking("1.0")));

    expect(card).toMatchObject({
      name: "Greeter",
      version: "1.0.0",
      capabilities: { streaming: true, pushNotifications: false },
      skills: [{ id: "greet", name: "Greet", tags: ["demo"] }],
      supportedInterfaces: ["1.0", "0.3"].flatMap((protocolVersion) => [
        { url: "http://127.0.0.1:3000/", protocolBinding: "JSONRPC", protocolVersion },
        { url: "http://127.0.0.1:3000/", protocolBinding: "HTTP+JSON", protocolVersion },
        { url: "127.0.0.1:3000", protocolBinding: "GRPC", protocolVersion },
      ]),
    });
    expect(card).not.toHaveProperty("url");
    expect(card).not.toHaveProperty("protocolVersion");
    expect(card).not.toHaveProperty("preferredTransport");
  });

  verifies(["R79", "R80"], "who asks for 0.3 gets that alone", () => {
    const card = cardOf(aBinding().handle(asking("0.3")));

    expect(card).toMatchObject({
      protocolVersion: "0.3.0",
      name: "Greeter",
      version: "1.0.0",
      url: "http://127.0.0.1:3000/",
      preferredTransport: "JSONRPC",
      capabilities: { streaming: true, pushNotifications: false },
      skills: [{ id: "greet", name: "Greet", tags: ["demo"] }],
    });
    expect(card).not.toHaveProperty("supportedInterfaces");
  });

  verifies("R79", "who asks for none gets one that both versions can read", () => {
    const binding = aBinding();

    const card = cardOf(binding.handle(asking()));

    expect(card).toMatchObject(cardOf(binding.handle(asking("1.0"))));
    expect(card).toMatchObject(cardOf(binding.handle(asking("0.3"))));
  });

  test("a version in the query counts too", () => {
    const query = new URLSearchParams({ "A2A-Version": "0.3" });

    const card = cardOf(aBinding().handle(aRequest({ query })));

    expect(card).not.toHaveProperty("supportedInterfaces");
  });

  test("a version that is not spoken here is an error, not a guess", () => {
    expect(() => aBinding().handle(asking("99.0"))).toThrow("Version not supported");
  });
});

describe("caches", () => {
  test("are told that the answer depends on the version, and for how long it holds", () => {
    const { status, headers } = aBinding().handle(asking());

    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "content-type": "application/json",
      vary: "A2A-Version",
      "cache-control": "public, max-age=300",
      "access-control-allow-origin": "*",
    });
  });

  test("each form has a tag of its own, the same one every time", () => {
    const binding = aBinding();
    const tagOf = (version?: string) => binding.handle(asking(version)).headers["etag"];

    const tags = [tagOf(), tagOf("0.3"), tagOf("1.0")];

    expect(new Set(tags).size).toBe(3);
    expect([tagOf(), tagOf("0.3"), tagOf("1.0")]).toEqual(tags);
    for (const tag of tags) expect(tag).toMatch(/^"[\w-]+"$/);
  });

  for (const [what, dress] of [
    ["a tag", (tag: string) => tag],
    ["a tag that a proxy made weak", (tag: string) => `W/${tag}`],
    ["a list of tags", (tag: string) => `"other", ${tag}`],
  ] as const) {
    test(`who has the card and sends ${what} gets no body`, () => {
      const binding = aBinding();
      const tag = binding.handle(asking("1.0")).headers["etag"] ?? "";

      const answer = binding.handle(asking("1.0", { "if-none-match": dress(tag) }));

      expect(answer).toMatchObject({ status: 304, body: "", headers: { etag: tag } });
      expect(answer.headers["vary"]).toBe("A2A-Version");
    });
  }

  test("who has another form, or an older card, gets this one", () => {
    const binding = aBinding();
    const tag = binding.handle(asking("1.0")).headers["etag"] ?? "";

    expect(binding.handle(asking("0.3", { "if-none-match": tag })).status).toBe(200);
    expect(binding.handle(asking("1.0", { "if-none-match": '"older"' })).status).toBe(200);
  });
});

describe("a token", () => {
  verifies("R115", "is declared in every form when callers need one", () => {
    const binding = aBinding({ token: "s3cret" });

    const hybrid = cardOf(binding.handle(asking()));

    expect(cardOf(binding.handle(asking("0.3")))).toMatchObject({
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      security: [{ bearer: [] }],
    });
    expect(cardOf(binding.handle(asking("1.0")))).toMatchObject({
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "bearer" } } },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    });
    expect(hybrid).toHaveProperty("security");
    expect(hybrid).toHaveProperty("securityRequirements");
  });

  test("never stands in the card", () => {
    const binding = aBinding({ token: "s3cret" });

    for (const version of [undefined, "0.3", "1.0"]) {
      expect(binding.handle(asking(version)).body).not.toContain("s3cret");
    }
  });

  verifies("R115", "is not mentioned where nobody needs one", () => {
    for (const version of [undefined, "0.3", "1.0"]) {
      const { body } = aBinding().handle(asking(version));

      expect(body).not.toContain("security");
    }
  });
});

describe("a server that listens everywhere", () => {
  const everywhere = { address: { host: "0.0.0.0", port: 3000 } };

  test("gives each caller an address that leads back, and never 0.0.0.0", () => {
    const binding = aBinding(everywhere);

    for (const host of ["localhost:3000", "box.local:3000"]) {
      for (const version of [undefined, "0.3", "1.0"]) {
        const { body } = binding.handle(asking(version, { host }));

        expect(body).toContain(`http://${host}/`);
        expect(body).not.toContain("0.0.0.0");
      }
    }
  });

  test("gives the right address after callers came by very many", () => {
    const binding = aBinding(everywhere);
    for (let port = 1; port <= 1000; port++) {
      binding.handle(asking("1.0", { host: `localhost:${port}` }));
    }

    const { body } = binding.handle(asking("1.0", { host: "localhost:7" }));

    expect(body).toContain("http://localhost:7/");
  });
});
