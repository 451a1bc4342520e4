import { isObject } from "../internal/json.ts";
import type { Metadata } from "./part.ts";

/**
 * How callers authenticate, in the form of A2A 0.3 and OpenAPI 3. A 1.0 card says the same in its
 * own form.
 */
export type SecurityScheme = { readonly description?: string } & (
  | { readonly type: "http"; readonly scheme: string; readonly bearerFormat?: string }
  | {
      readonly type: "apiKey";
      readonly in: "header" | "query" | "cookie";
      readonly name: string;
    }
  | {
      readonly type: "oauth2";
      /** By name, such as `clientCredentials`. A 1.0 card has room for one flow. */
      readonly flows: Readonly<Record<string, Metadata>>;
      readonly oauth2MetadataUrl?: string;
    }
  | { readonly type: "openIdConnect"; readonly openIdConnectUrl: string }
  | { readonly type: "mutualTLS" }
);

/** The names of schemes that are required together, each with the scopes it needs. */
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>;

/** What a card says about authentication. */
export interface CardSecurity {
  readonly schemes: Readonly<Record<string, SecurityScheme>>;
  /** Alternatives: a caller has to meet one of them. */
  readonly requirements: readonly SecurityRequirement[];
}

/** A bearer token in the `Authorization` header. */
export const BEARER_SECURITY: CardSecurity = {
  schemes: { bearer: { type: "http", scheme: "bearer" } },
  requirements: [{ bearer: [] }],
};

type Json = Readonly<Record<string, unknown>>;

/** The `type` of a scheme in the JSON of 0.3, and the member of the proto that corresponds to it. */
const SCHEME_MEMBERS = {
  apiKey: "apiKeySecurityScheme",
  http: "httpAuthSecurityScheme",
  oauth2: "oauth2SecurityScheme",
  openIdConnect: "openIdConnectSecurityScheme",
  mutualTLS: "mtlsSecurityScheme",
} as const;

/** In order of preference: the proto has room for one flow, the JSON of 0.3 for all of them. */
const FLOWS = [
  "authorizationCode",
  "clientCredentials",
  "deviceCode",
  "implicit",
  "password",
] as const;

/** A scheme of 0.3 in the form of 1.0, which is also the one of the 0.3 proto. */
export function schemeToProto(value: unknown): Json {
  const { type, in: location, flows, ...rest } = value as Json;
  const member = SCHEME_MEMBERS[type as keyof typeof SCHEME_MEMBERS];
  if (member === undefined) return {};
  return {
    [member]: {
      ...rest,
      ...(location !== undefined && { location }),
      ...(isObject(flows) && { flows: oneFlow(flows) }),
    },
  };
}

/** The inverse; empty for a scheme of an unknown type. */
export function schemeFromProto(value: unknown): Json {
  const scheme = value as Json;
  for (const [type, member] of Object.entries(SCHEME_MEMBERS)) {
    const inner = scheme[member];
    if (!isObject(inner)) continue;
    const { location, ...rest } = inner;
    return { type, ...(location !== undefined && { in: location }), ...rest };
  }
  return {};
}

/** `{ bearer: [] }` is `{ schemes: { bearer: { list: [] } } }`. */
export function requirementToProto(requirement: Json): Json {
  return { schemes: mapValues(requirement, (list) => ({ list })) };
}

function oneFlow(flows: Json): Json {
  const name = FLOWS.find((flow) => flows[flow] !== undefined);
  return name === undefined ? {} : { [name]: flows[name] };
}

export function mapValues<T>(object: Json, translate: (value: unknown) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, translate(value)]));
}

/** What a received card says about authentication: `security` in 0.3, `securityRequirements` in 1.0. */
export function readCardSecurity(card: Json): CardSecurity {
  const schemes = isObject(card["securitySchemes"]) ? card["securitySchemes"] : {};
  const listed = card["securityRequirements"] ?? card["security"];
  return {
    schemes: mapValues(schemes, readScheme),
    requirements: Array.isArray(listed) ? listed.filter(isObject).map(readRequirement) : [],
  };
}

function readScheme(value: unknown): SecurityScheme {
  const scheme = isObject(value) ? value : {};
  return (typeof scheme["type"] === "string" ? scheme : schemeFromProto(scheme)) as SecurityScheme;
}

function readRequirement(value: Json): SecurityRequirement {
  return mapValues(isObject(value["schemes"]) ? value["schemes"] : value, (scopes) => {
    const list = isObject(scopes) ? scopes["list"] : scopes;
    return Array.isArray(list) ? list.filter((scope) => typeof scope === "string") : [];
  });
}
