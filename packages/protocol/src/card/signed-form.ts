import type { FieldRow, ProtoTables } from "../grpc/binary/wire-format.ts";
import { TABLES } from "../grpc/v1/tables.gen.ts";
import { encodeBase64Url } from "../internal/base64url.ts";
import { type JsonObject, canonicalJson, isObject } from "../internal/json.ts";

/**
 * The two forms of a 1.0 card that are signed in practice:
 *
 * - `spec`, according to 1.0 §8.4.1: required fields stay, optional fields stay if they are set,
 *   every other field is removed if it has its default value.
 * - `sdk`, as the official SDKs sign: additionally, everything empty is removed, required or not
 *   and at any depth.
 *
 * A signature over the second form covers nothing that is empty, so an intermediary may add or
 * remove such fields, for example `securityRequirements` of a scheme without scopes.
 */
export type SignedFormName = "spec" | "sdk";

/**
 * The part of a card that a signature covers: the fields of 1.0, without `signatures`. Fields of 0.3
 * on a card for both versions and other unknown fields are not covered, because a peer that reads
 * cards with the proto file never sees them.
 *
 * A missing required field is not added. A field of the wrong type is a TypeError that names it.
 */
export function signedForm(card: object, form: SignedFormName): object {
  const { signatures: _, ...content } = expectObject(card, "card");
  const spec = messageForm("AgentCard", content, "card");
  return form === "spec" ? spec : ((withoutEmpty(spec) ?? {}) as object);
}

type Messages = typeof TABLES.messages;

/** The fields of a 1.0 card that the proto file marks REQUIRED. */
const REQUIRED = {
  AgentCard: [
    "name",
    "description",
    "supportedInterfaces",
    "version",
    "capabilities",
    "defaultInputModes",
    "defaultOutputModes",
    "skills",
  ],
  AgentInterface: ["url", "protocolBinding", "protocolVersion"],
  AgentProvider: ["url", "organization"],
  AgentSkill: ["id", "name", "description", "tags"],
  APIKeySecurityScheme: ["location", "name"],
  HTTPAuthSecurityScheme: ["scheme"],
  OAuth2SecurityScheme: ["flows"],
  OpenIdConnectSecurityScheme: ["openIdConnectUrl"],
  AuthorizationCodeOAuthFlow: ["authorizationUrl", "tokenUrl", "scopes"],
  ClientCredentialsOAuthFlow: ["tokenUrl", "scopes"],
  DeviceCodeOAuthFlow: ["deviceAuthorizationUrl", "tokenUrl", "scopes"],
} as const satisfies {
  readonly [M in keyof Messages]?: readonly (keyof Messages[M])[];
};

const { messages: MESSAGES }: ProtoTables = TABLES;

function messageForm(message: string, value: unknown, path: string): object {
  const object = expectObject(value, path);
  const kept: [string, unknown][] = [];
  const chosen = new Map<string, string>();
  for (const [field, row] of Object.entries(MESSAGES[message] ?? {})) {
    const set = Object.hasOwn(object, field) ? (object[field] ?? undefined) : undefined;
    if (set === undefined) continue;
    const place = `${path}.${field}`;
    rejectSecond(row, place, chosen);
    const written = fieldForm(row, set, place);
    if (isKept(message, field, row, written)) kept.push([field, written]);
  }
  return Object.fromEntries(kept);
}

/** Rejects a second member of a oneof: readers differ in which one they use, so the signature would be ambiguous. */
function rejectSecond([, , rule]: FieldRow, place: string, chosen: Map<string, string>): void {
  if (!rule?.startsWith("oneof ")) return;
  const first = chosen.get(rule);
  if (first !== undefined) {
    throw new TypeError(`${place} must not be set beside ${first}; only one of them may be`);
  }
  chosen.set(rule, place);
}

function isKept(message: string, field: string, row: FieldRow, written: unknown): boolean {
  const [, type, rule] = row;
  if (isRequired(message, field)) return true;
  if (rule === "repeated" || rule === "map") return Object.keys(written as object).length > 0;
  // An empty message is not the same as an absent one.
  if (rule !== undefined || (type !== "string" && type !== "bool")) return true;
  return written !== "" && written !== false;
}

function isRequired(message: string, field: string): boolean {
  return (
    (REQUIRED as Readonly<Record<string, readonly string[]>>)[message]?.includes(field) === true
  );
}

function fieldForm([, type, rule]: FieldRow, value: unknown, path: string): unknown {
  if (rule === "repeated") {
    if (!Array.isArray(value)) throw new TypeError(`${path} must be an array`);
    return Array.from(value, (item, index) => valueForm(type, item, `${path}[${index}]`));
  }
  if (rule === "map") {
    const entries = Object.entries(expectObject(value, path));
    return Object.fromEntries(
      entries.map(([key, item]) => [key, valueForm(type, item, `${path}[${JSON.stringify(key)}]`)]),
    );
  }
  return valueForm(type, value, path);
}

function valueForm(type: string, value: unknown, path: string): unknown {
  switch (type) {
    case "string":
      if (typeof value !== "string") throw new TypeError(`${path} must be a string`);
      return value;
    case "bool":
      if (typeof value !== "boolean") throw new TypeError(`${path} must be a boolean`);
      return value;
    case "Struct":
      return structForm(expectObject(value, path), path);
    default:
      return messageForm(type, value, path);
  }
}

/** Any JSON object, unchanged: its members have no defaults. */
function structForm(value: object, path: string): unknown {
  try {
    return JSON.parse(canonicalJson(value)) as unknown;
  } catch (error) {
    throw new TypeError(`${path} must be JSON: ${(error as Error).message}`, { cause: error });
  }
}

function expectObject(value: unknown, path: string): JsonObject {
  if (!isObject(value)) throw new TypeError(`${path} must be an object`);
  return value;
}

/** Removes everything empty, innermost first; `undefined` if nothing remains. */
function withoutEmpty(value: unknown): unknown {
  if (value === "" || value === null) return undefined;
  if (typeof value !== "object") return value;
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpty).filter((item) => item !== undefined);
    return items.length > 0 ? items : undefined;
  }
  const members = Object.entries(value)
    .map(([key, member]) => [key, withoutEmpty(member)] as const)
    .filter(([, member]) => member !== undefined);
  return members.length > 0 ? Object.fromEntries(members) : undefined;
}

/** A payload to sign, and the form of the card that it contains. */
interface CardPayload {
  readonly form: SignedFormName;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The bytes in base64url, as in a JWS. */
  readonly payload: string;
}

/** The payloads of a card, the stronger form first; only one if nothing in the card is empty. */
export function cardPayloads(card: object): readonly CardPayload[] {
  const spec = createPayload(card, "spec");
  const sdk = createPayload(card, "sdk");
  return spec.payload === sdk.payload ? [spec] : [spec, sdk];
}

function createPayload(card: object, form: SignedFormName): CardPayload {
  const bytes = new TextEncoder().encode(canonicalJson(signedForm(card, form)));
  return { form, bytes, payload: encodeBase64Url(bytes) };
}
