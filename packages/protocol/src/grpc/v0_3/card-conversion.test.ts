import { describe, expect, test } from "vitest";
import { BEARER_SECURITY } from "../../model/security.ts";
import { someFacts } from "../../testing/arbitraries.suite.ts";
import { PROTO_CODECS } from "../../wire/codecs.ts";
import type { GrpcMethod } from "../binary/service.ts";
import { GRPC_SERVICES } from "../index.ts";
import { cardToProto } from "./card-conversion.ts";

const cardMethod = (version: "0.3" | "1.0"): GrpcMethod =>
  GRPC_SERVICES[version].methods.find(
    ({ operation }) => operation === "getExtendedCard",
  ) as GrpcMethod;

const trip = (card: object, version: "0.3" | "1.0" = "0.3"): unknown => {
  const method = cardMethod(version);
  return method.decodeResponse(method.encodeResponse(card));
};

describe("a card", () => {
  test("of 0.3 arrives as its JSON, except for what its proto cannot represent", () => {
    const card = PROTO_CODECS["0.3"].encodeCard(
      someFacts({
        security: BEARER_SECURITY,
        interfaces: [{ url: "https://agent.test/", binding: "GRPC", version: "0.3" }],
        capabilities: { streaming: true, pushNotifications: true },
      }),
    );
    const { supportsAuthenticatedExtendedCard: _, ...sent } = card as Record<string, unknown>;

    expect(trip(card)).toEqual({
      ...sent,
      capabilities: { streaming: true, pushNotifications: true },
    });
  });

  test("of 1.0 arrives as its JSON", () => {
    const card = PROTO_CODECS["1.0"].encodeCard(someFacts({ security: BEARER_SECURITY }));

    expect(trip(card, "1.0")).toEqual({
      ...card,
      // An empty list of scopes equals none.
      securityRequirements: [{ schemes: { bearer: {} } }],
    });
  });
});

describe("security on a 0.3 card", () => {
  test.each([
    { type: "apiKey", in: "header", name: "X-Key", description: "a key" },
    { type: "http", scheme: "bearer", bearerFormat: "JWT" },
    { type: "openIdConnect", openIdConnectUrl: "https://id.test/" },
    { type: "mutualTLS", description: "a certificate" },
    {
      type: "oauth2",
      flows: { clientCredentials: { tokenUrl: "https://id.test/t", scopes: { read: "Reads." } } },
    },
  ])("arrives as %j", (scheme) => {
    const card = {
      name: "Agent",
      securitySchemes: { one: scheme },
      security: [{ one: ["read"] }, { one: [], two: ["write"] }],
      skills: [{ id: "s", security: [{ one: [] }] }, { id: "t" }],
    };

    expect(trip(card)).toEqual(card);
  });

  test("is the matching member of the proto", () => {
    expect(
      cardToProto({
        securitySchemes: { key: { type: "apiKey", in: "query", name: "k" } },
        security: [{ key: [] }],
      }),
    ).toEqual({
      securitySchemes: { key: { apiKeySecurityScheme: { location: "query", name: "k" } } },
      security: [{ schemes: { key: { list: [] } } }],
    });
  });

  test("has one flow of several, the safest", () => {
    const flows = {
      password: { tokenUrl: "https://id.test/p" },
      authorizationCode: { tokenUrl: "https://id.test/a" },
    };
    const card = { securitySchemes: { o: { type: "oauth2", flows } } };

    expect(trip(card)).toEqual({
      securitySchemes: {
        o: { type: "oauth2", flows: { authorizationCode: flows.authorizationCode } },
      },
    });
  });
});
