import type { RawCard } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { listField, objectField, textField } from "../terminal/json-fields.ts";

/** Whether callers must authenticate: every alternative of the card names at least one scheme. */
export function requiresCredentials(card: RawCard): boolean {
  const current = listField(card, "securityRequirements");
  const alternatives = current.length > 0 ? current : listField(card, "security");
  return alternatives.length > 0 && alternatives.every((each) => schemeNames(each).length > 0);
}

/** 1.0 wraps the names of an alternative in `schemes`; 0.3 does not. */
function schemeNames(alternative: unknown): readonly string[] {
  if (!isObject(alternative)) return [];
  const { schemes } = alternative;
  return Object.keys(isObject(schemes) ? schemes : alternative);
}

/** Whether the card declares a scheme that a `WWW-Authenticate` header asks for. */
export function challengeMatches(card: RawCard, challenge: string | undefined): boolean {
  const declared = Object.values(objectField(card, "securitySchemes")).flatMap(httpSchemes);
  if (declared.length === 0) return false;
  const asked = /^\s*([\w-]+)/.exec(challenge ?? "")?.[1]?.toLowerCase();
  if (asked === undefined || declared.includes(asked)) return true;
  return declared.includes("unregistered") && !REGISTERED.includes(asked);
}

/** A key in a header or a client certificate has no registered challenge; these have. */
const REGISTERED = ["basic", "bearer", "digest"];

const V1_SCHEMES = {
  apiKeySecurityScheme: "unregistered",
  mtlsSecurityScheme: "unregistered",
  oauth2SecurityScheme: "bearer",
  openIdConnectSecurityScheme: "bearer",
} as const;

const V03_SCHEMES: Readonly<Record<string, string>> = {
  apiKey: "unregistered",
  mutualTLS: "unregistered",
  oauth2: "bearer",
  openIdConnect: "bearer",
};

/** The HTTP authentication schemes behind a declared scheme of either version. */
function httpSchemes(scheme: unknown): readonly string[] {
  if (!isObject(scheme)) return [];
  const http = textField(scheme["httpAuthSecurityScheme"] ?? scheme, "scheme").toLowerCase();
  const current = Object.entries(V1_SCHEMES).flatMap(([name, kind]) =>
    isObject(scheme[name]) ? [kind] : [],
  );
  const legacy = V03_SCHEMES[textField(scheme, "type")];
  return [...(http === "" ? [] : [http]), ...current, ...(legacy === undefined ? [] : [legacy])];
}
