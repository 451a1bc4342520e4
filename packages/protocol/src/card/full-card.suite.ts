import fc, { type Arbitrary } from "fast-check";
import { TABLES } from "../grpc/v1/tables.gen.ts";
import { protoJsonOf } from "../testing/proto-json.suite.ts";

/** A 1.0 card in which every field is set and nothing is empty. */
export const FULL_CARD = {
  name: "Grüßer 👋",
  description: "Greets people by name.\n\u2028世界",
  supportedInterfaces: [
    {
      url: "https://agent.test/",
      protocolBinding: "JSONRPC",
      tenant: "acme",
      protocolVersion: "1.0",
    },
    { url: "agent.test:443", protocolBinding: "GRPC", protocolVersion: "1.0" },
  ],
  provider: { url: "https://convoke.test", organization: "Convoke" },
  version: "1.2.3",
  documentationUrl: "https://convoke.test/docs",
  capabilities: {
    streaming: true,
    pushNotifications: false,
    extensions: [
      {
        uri: "https://extension.test/v1",
        description: "An extension.",
        required: true,
        params: { "ключ 🔑": [1, 2.5, 1e21, -1e-7, { deep: ["a", false] }], limit: 3 },
      },
    ],
    extendedAgentCard: true,
  },
  securitySchemes: {
    key: { apiKeySecurityScheme: { description: "A key.", location: "header", name: "X-Key" } },
    bearer: {
      httpAuthSecurityScheme: { description: "A token.", scheme: "bearer", bearerFormat: "JWT" },
    },
    code: {
      oauth2SecurityScheme: {
        description: "OAuth.",
        flows: {
          authorizationCode: {
            authorizationUrl: "https://auth.test/authorize",
            tokenUrl: "https://auth.test/token",
            refreshUrl: "https://auth.test/refresh",
            scopes: { read: "May read." },
            pkceRequired: true,
          },
        },
        oauth2MetadataUrl: "https://auth.test/metadata",
      },
    },
    machine: {
      oauth2SecurityScheme: {
        flows: { clientCredentials: { tokenUrl: "https://auth.test/token", scopes: { all: "x" } } },
      },
    },
    device: {
      oauth2SecurityScheme: {
        flows: {
          deviceCode: {
            deviceAuthorizationUrl: "https://auth.test/device",
            tokenUrl: "https://auth.test/token",
            scopes: { all: "x" },
          },
        },
      },
    },
    openId: { openIdConnectSecurityScheme: { openIdConnectUrl: "https://auth.test/openid" } },
    mutual: { mtlsSecurityScheme: { description: "A certificate." } },
  },
  securityRequirements: [{ schemes: { code: { list: ["read"] } } }],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain", "application/json"],
  skills: [
    {
      id: "greet",
      name: "Greet",
      description: "Says hello.",
      tags: ["hello"],
      examples: ["Greet Ann"],
      inputModes: ["text/plain"],
      outputModes: ["text/plain"],
      securityRequirements: [{ schemes: { code: { list: ["read"] } } }],
    },
  ],
  iconUrl: "https://convoke.test/icon.png",
} as const;

type Path = readonly (string | number)[];

/** The paths of all values in a JSON value that are not objects or lists. */
export function leavesOf(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([key, member]) =>
    leavesOf(member, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

/** The value with another one at a path; without the path if that is `undefined`. */
export function changedAt(
  value: unknown,
  [key, ...rest]: Path,
  change: (leaf: unknown) => unknown,
): unknown {
  if (key === undefined) return change(value);
  const entries = Object.entries(value as object).flatMap(([name, member]) => {
    const changed = name === String(key) ? changedAt(member, rest, change) : member;
    return changed === undefined ? [] : [[name, changed] as const];
  });
  return Array.isArray(value) ? entries.map(([, member]) => member) : Object.fromEntries(entries);
}

/** Any card that the proto file allows, with some of its texts empty. */
export const cards: Arbitrary<object> = fc
  .tuple(protoJsonOf(TABLES, "AgentCard"), fc.array(fc.nat(), { maxLength: 3 }))
  .map(([card, places]) => places.reduce(emptiedAt, card));

function emptiedAt(card: object, place: number): object {
  const leaves = leavesOf(card);
  const path = leaves[place % leaves.length];
  if (path === undefined) return card;
  return changedAt(card, path, (leaf) => (typeof leaf === "string" ? "" : leaf)) as object;
}
