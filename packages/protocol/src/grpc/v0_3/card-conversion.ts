import { isObject } from "../../internal/json.ts";

type Json = Readonly<Record<string, unknown>>;

/** The `type` of a security scheme in the JSON of 0.3, and the member of the proto that corresponds to it. */
const MEMBERS = {
  apiKey: "apiKeySecurityScheme",
  http: "httpAuthSecurityScheme",
  oauth2: "oauth2SecurityScheme",
  openIdConnect: "openIdConnectSecurityScheme",
  mutualTLS: "mtlsSecurityScheme",
} as const;

/** In order of preference: the proto has room for one flow, the JSON for all of them. */
const FLOWS = ["authorizationCode", "clientCredentials", "implicit", "password"] as const;

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

function oneFlow(flows: Json): Json {
  const name = FLOWS.find((flow) => flows[flow] !== undefined);
  return name === undefined ? {} : { [name]: flows[name] };
}

function mapValues(object: Json, translate: (value: unknown) => unknown): Json {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, translate(value)]));
}
