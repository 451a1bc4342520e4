import { isObject } from "../../internal/json.ts";
import type { MessageTables } from "../binary/wire-format.ts";

/** Security schemes: the same in both versions, except for the flows that 1.0 added. */
export const SECURITY_MESSAGES = {
  StringList: { list: [1, "string", "repeated"] },
  SecurityScheme: {
    apiKeySecurityScheme: [1, "APIKeySecurityScheme", "oneof scheme"],
    httpAuthSecurityScheme: [2, "HTTPAuthSecurityScheme", "oneof scheme"],
    oauth2SecurityScheme: [3, "OAuth2SecurityScheme", "oneof scheme"],
    openIdConnectSecurityScheme: [4, "OpenIdConnectSecurityScheme", "oneof scheme"],
    mtlsSecurityScheme: [5, "MutualTlsSecurityScheme", "oneof scheme"],
  },
  APIKeySecurityScheme: {
    description: [1, "string"],
    location: [2, "string"],
    name: [3, "string"],
  },
  HTTPAuthSecurityScheme: {
    description: [1, "string"],
    scheme: [2, "string"],
    bearerFormat: [3, "string"],
  },
  OAuth2SecurityScheme: {
    description: [1, "string"],
    flows: [2, "OAuthFlows"],
    oauth2MetadataUrl: [3, "string"],
  },
  OpenIdConnectSecurityScheme: { description: [1, "string"], openIdConnectUrl: [2, "string"] },
  MutualTlsSecurityScheme: { description: [1, "string"] },
  OAuthFlows: {
    authorizationCode: [1, "AuthorizationCodeOAuthFlow", "oneof flow"],
    clientCredentials: [2, "ClientCredentialsOAuthFlow", "oneof flow"],
    implicit: [3, "ImplicitOAuthFlow", "oneof flow"],
    password: [4, "PasswordOAuthFlow", "oneof flow"],
  },
  AuthorizationCodeOAuthFlow: {
    authorizationUrl: [1, "string"],
    tokenUrl: [2, "string"],
    refreshUrl: [3, "string"],
    scopes: [4, "string", "map"],
  },
  ClientCredentialsOAuthFlow: {
    tokenUrl: [1, "string"],
    refreshUrl: [2, "string"],
    scopes: [3, "string", "map"],
  },
  ImplicitOAuthFlow: {
    authorizationUrl: [1, "string"],
    refreshUrl: [2, "string"],
    scopes: [3, "string", "map"],
  },
  PasswordOAuthFlow: {
    tokenUrl: [1, "string"],
    refreshUrl: [2, "string"],
    scopes: [3, "string", "map"],
  },
} as const satisfies MessageTables;

/** The agent card and its contents. */
export const CARD_MESSAGES = {
  ...SECURITY_MESSAGES,
  AgentCard: {
    name: [1, "string"],
    description: [2, "string"],
    url: [3, "string"],
    provider: [4, "AgentProvider"],
    version: [5, "string"],
    documentationUrl: [6, "string"],
    capabilities: [7, "AgentCapabilities"],
    securitySchemes: [8, "SecurityScheme", "map"],
    security: [9, "Security", "repeated"],
    defaultInputModes: [10, "string", "repeated"],
    defaultOutputModes: [11, "string", "repeated"],
    skills: [12, "AgentSkill", "repeated"],
    supportsAuthenticatedExtendedCard: [13, "bool"],
    preferredTransport: [14, "string"],
    additionalInterfaces: [15, "AgentInterface", "repeated"],
    protocolVersion: [16, "string"],
    signatures: [17, "AgentCardSignature", "repeated"],
    iconUrl: [18, "string"],
  },
  AgentInterface: { url: [1, "string"], transport: [2, "string"] },
  AgentProvider: { url: [1, "string"], organization: [2, "string"] },
  AgentCapabilities: {
    streaming: [1, "bool"],
    pushNotifications: [2, "bool"],
    extensions: [3, "AgentExtension", "repeated"],
  },
  AgentExtension: {
    uri: [1, "string"],
    description: [2, "string"],
    required: [3, "bool"],
    params: [4, "Struct"],
  },
  AgentSkill: {
    id: [1, "string"],
    name: [2, "string"],
    description: [3, "string"],
    tags: [4, "string", "repeated"],
    examples: [5, "string", "repeated"],
    inputModes: [6, "string", "repeated"],
    outputModes: [7, "string", "repeated"],
    security: [8, "Security", "repeated"],
  },
  AgentCardSignature: { protected: [1, "string"], signature: [2, "string"], header: [3, "Struct"] },
  Security: { schemes: [1, "StringList", "map"] },
} as const satisfies MessageTables;

type Json = Readonly<Record<string, unknown>>;

/**
 * A card of 0.3 is the same JSON on all bindings, except for security in its proto:
 * `{ type: "http" }` is `{ httpAuthSecurityScheme: {} }`, and `{ bearer: [] }` is
 * `{ schemes: { bearer: { list: [] } } }`.
 */
export function cardToProto(value: unknown): unknown {
  const card = value as Json;
  return {
    ...withRequirements(card, requirementToProto),
    ...(isObject(card["securitySchemes"]) && {
      securitySchemes: mapValues(card["securitySchemes"], schemeToProto),
    }),
    ...(Array.isArray(card["skills"]) && {
      skills: card["skills"].map((skill: Json) => withRequirements(skill, requirementToProto)),
    }),
  };
}

export function cardFromProto(value: unknown): unknown {
  const card = value as Json;
  return {
    ...withRequirements(card, requirementFromProto),
    ...(isObject(card["securitySchemes"]) && {
      securitySchemes: mapValues(card["securitySchemes"], schemeFromProto),
    }),
    ...(Array.isArray(card["skills"]) && {
      skills: card["skills"].map((skill: Json) => withRequirements(skill, requirementFromProto)),
    }),
  };
}

function withRequirements(owner: Json, translate: (requirement: Json) => Json): Json {
  const { security } = owner;
  return Array.isArray(security) ? { ...owner, security: security.map(translate) } : owner;
}

function requirementToProto(requirement: Json): Json {
  return { schemes: mapValues(requirement, (list) => ({ list })) };
}

function requirementFromProto({ schemes }: Json): Json {
  return isObject(schemes) ? mapValues(schemes, (scopes) => (scopes as Json)["list"] ?? []) : {};
}

/** The `type` of a security scheme in the JSON of 0.3, and the member of the proto that corresponds to it. */
const MEMBERS = {
  apiKey: "apiKeySecurityScheme",
  http: "httpAuthSecurityScheme",
  oauth2: "oauth2SecurityScheme",
  openIdConnect: "openIdConnectSecurityScheme",
  mutualTLS: "mtlsSecurityScheme",
} as const;

function schemeToProto(value: unknown): Json {
  const { type, in: location, flows, ...rest } = value as Json;
  const member = MEMBERS[type as keyof typeof MEMBERS];
  if (member === undefined) return {};
  return {
    [member]: {
      ...rest,
      ...(location !== undefined && { location }),
      ...(isObject(flows) && { flows: oneFlow(flows) }),
    },
  };
}

function schemeFromProto(value: unknown): Json {
  const scheme = value as Json;
  for (const [type, member] of Object.entries(MEMBERS)) {
    const inner = scheme[member];
    if (!isObject(inner)) continue;
    const { location, ...rest } = inner;
    return { type, ...(location !== undefined && { in: location }), ...rest };
  }
  return {};
}

/** In order of preference: the proto has room for one flow, the JSON for all of them. */
const FLOWS = ["authorizationCode", "clientCredentials", "implicit", "password"] as const;

function oneFlow(flows: Json): Json {
  const name = FLOWS.find((flow) => flows[flow] !== undefined);
  return name === undefined ? {} : { [name]: flows[name] };
}

function mapValues(object: Json, translate: (value: unknown) => unknown): Json {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, translate(value)]));
}
