import { isObject } from "../../internal/json.ts";
import {
  mapValues,
  requirementToProto,
  schemeFromProto,
  schemeToProto,
} from "../../model/security.ts";

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

function requirementFromProto({ schemes }: Json): Json {
  return isObject(schemes) ? mapValues(schemes, (scopes) => (scopes as Json)["list"] ?? []) : {};
}
