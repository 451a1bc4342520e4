import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { BEARER_SECURITY } from "../model/security.ts";
import { overTheWire, someFacts } from "../testing/arbitraries.suite.ts";
import { buildCard } from "./build-card.ts";

/** The required fields of a card in each version: 0.3 §5.5, 1.0 §4.4.1. */
const REQUIRED = {
  "0.3": [
    "protocolVersion",
    "name",
    "description",
    "url",
    "version",
    "capabilities",
    "defaultInputModes",
    "defaultOutputModes",
    "skills",
  ],
  "1.0": [
    "name",
    "description",
    "supportedInterfaces",
    "version",
    "capabilities",
    "defaultInputModes",
    "defaultOutputModes",
    "skills",
  ],
} as const;

/** Fields that only one of the versions has. */
const ONLY = {
  "0.3": [
    "protocolVersion",
    "url",
    "preferredTransport",
    "additionalInterfaces",
    "security",
    "supportsAuthenticatedExtendedCard",
  ],
  "1.0": ["supportedInterfaces", "securityRequirements"],
} as const;

const guarded = someFacts({ security: BEARER_SECURITY });

describe.each(["0.3", "1.0", undefined] as const)("a card for a caller of %s", (version) => {
  const card = written(buildCard(someFacts(), version));

  verifies(["R80"], "it describes the agent and its capabilities", () => {
    expect(card).toMatchObject({
      name: "Greeter",
      description: "Greets people by name.",
      version: "1.2.3",
      capabilities: { streaming: true, pushNotifications: false },
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["text/plain", "application/json"],
      skills: [{ id: "greet", name: "Greet", description: "Says hello.", tags: ["hello"] }],
    });
  });

  verifies(["R80", "seed-C29"], "only the 0.3 card declares stateTransitionHistory", () => {
    const { capabilities } = card as { capabilities: { stateTransitionHistory?: boolean } };

    expect(capabilities.stateTransitionHistory).toBe(version === "1.0" ? undefined : true);
  });

  test("every required field is present, and no field of the other version", () => {
    const other = ({ "0.3": "1.0", "1.0": "0.3" } as const)[version ?? "0.3"];
    const required = version === undefined ? Object.values(REQUIRED).flat() : REQUIRED[version];

    expect(Object.keys(card)).toEqual(expect.arrayContaining([...required]));
    if (version !== undefined) {
      const full = written(buildCard(guarded, version));
      expect(Object.keys(full).filter((name) => ONLY[other].some((only) => only === name))).toEqual(
        [],
      );
    }
  });

  test("unknown facts are omitted", () => {
    for (const name of ["provider", "documentationUrl", "iconUrl", "securitySchemes"]) {
      expect(card).not.toHaveProperty(name);
    }
  });

  test("known facts are included", () => {
    const known = {
      provider: { organization: "Convoke", url: "https://convoke.test" },
      documentationUrl: "https://convoke.test/docs",
      iconUrl: "https://convoke.test/icon.png",
    };
    const { info } = someFacts();

    expect(buildCard(someFacts({ info: { ...info, ...known } }), version)).toMatchObject(known);
  });
});

describe("where the agent is reached", () => {
  const interfaces = [
    { url: "https://agent.test/new", binding: "JSONRPC", version: "1.0" },
    { url: "https://agent.test/rest", binding: "HTTP+JSON", version: "1.0" },
    { url: "https://agent.test/old", binding: "JSONRPC", version: "0.3" },
    { url: "https://agent.test/old/rest", binding: "HTTP+JSON", version: "0.3" },
  ] as const;
  const facts = someFacts({ interfaces });

  test("a 0.3 card lists only 0.3 interfaces, the first as its main one", () => {
    expect(buildCard(facts, "0.3")).toMatchObject({
      protocolVersion: "0.3.0",
      url: "https://agent.test/old",
      preferredTransport: "JSONRPC",
      additionalInterfaces: [
        { url: "https://agent.test/old", transport: "JSONRPC" },
        { url: "https://agent.test/old/rest", transport: "HTTP+JSON" },
      ],
    });
    expect(JSON.stringify(buildCard(facts, "0.3"))).not.toContain("agent.test/new");
  });

  test.each(["1.0", undefined] as const)("a card for %s lists all, in order", (version) => {
    expect(buildCard(facts, version)).toMatchObject({
      supportedInterfaces: interfaces.map(({ url, binding, version: protocolVersion }) => ({
        url,
        protocolBinding: binding,
        protocolVersion,
      })),
    });
  });
});

describe("the required credentials", () => {
  verifies(["R115"], "a 0.3 card declares the bearer token in the 0.3 format", () => {
    expect(buildCard(guarded, "0.3")).toMatchObject({
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      security: [{ bearer: [] }],
    });
  });

  verifies(["R115"], "a 1.0 card declares it in the 1.0 format", () => {
    expect(written(buildCard(guarded, "1.0"))).toMatchObject({
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "bearer" } } },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    });
    expect(buildCard(guarded, "1.0")).not.toHaveProperty("securitySchemes.bearer.type");
  });

  verifies(["R115"], "a card for both declares it in both", () => {
    expect(buildCard(guarded, undefined)).toMatchObject({
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          httpAuthSecurityScheme: { scheme: "bearer" },
        },
      },
      security: [{ bearer: [] }],
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    });
  });

  test.each(["0.3", "1.0", undefined] as const)(
    "an open agent requires nothing of %s",
    (version) => {
      const names = Object.keys(buildCard(someFacts(), version));

      expect(names.filter((name) => name.startsWith("security"))).toEqual([]);
    },
  );
});

test("a hybrid card is the union of both", () => {
  const { securitySchemes: _, ...old } = written(buildCard(guarded, "0.3"));
  const { securitySchemes: __, ...current } = written(buildCard(guarded, "1.0"));

  expect(written(buildCard(guarded, undefined))).toMatchObject({ ...old, ...current });
});

/** The card as its reader gets it. */
function written(card: object): Record<string, unknown> {
  return overTheWire(card) as Record<string, unknown>;
}
