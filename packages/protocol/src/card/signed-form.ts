import { CARD_MESSAGES } from "../grpc/v1/card-messages.ts";
import type { FieldRow, MessageTables } from "../grpc/binary/table.ts";
import { canonicalJson } from "../internal/canonical-json.ts";

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
  readonly [M in keyof CardMessages]?: readonly (keyof CardMessages[M])[];
};

/**
 * The two forms of a 1.0 card that are signed in the world:
 *
 * - `spec`, as 1.0 §8.4.1 has it: required fields stay, optional fields stay when they are set,
 *   every other field goes when it has its default value.
 * - `sdk`, as the official SDKs sign: of that, everything empty goes as well, required or not and
 *   at any depth.
 *
 * A signature over the second covers nothing that is empty, so whoever passes the card on may add
 * or take out such things: `securityRequirements` of a scheme that asks for no scopes, for one.
 */
export type SignedFormName = "spec" | "sdk";

/**
 * What a signature covers of a card: the fields that 1.0 knows, without `signatures`. The fields
 * of 0.3 on a card for both versions are not covered, and neither is anything else unknown, because
 * a peer that reads cards by the proto file never sees them.
 *
 * A required field that the card lacks is not invented. A field of the wrong type is a TypeError
 * that names it, never a guess at what was meant.
 */
export function signedForm(card: object, form: SignedFormName): object {
  const { signatures: _, ...content } = objectOf(card, "card");
  const spec = messageForm("AgentCard", content, "card");
  return form === "spec" ? spec : ((withoutEmpty(spec) ?? {}) as object);
}

const MESSAGES: MessageTables = CARD_MESSAGES;

function messageForm(message: string, value: unknown, path: string): object {
  const object = objectOf(value, path);
  const kept: [string, unknown][] = [];
  const chosen = new Map<string, string>();
  for (const [field, row] of Object.entries(MESSAGES[message] ?? {})) {
    const set = Object.hasOwn(object, field) ? (object[field] ?? undefined) : undefined;
    if (set === undefined) continue;
    const place = `${path}.${field}`;
    refuseSecond(row, place, chosen);
    const written = fieldForm(row, set, place);
    if (isKept(message, field, row, written)) kept.push([field, written]);
  }
  return Object.fromEntries(kept);
}

/** Readers differ in which of two they take, so a signature over both would mean two things. */
function refuseSecond([, , rule]: FieldRow, place: string, chosen: Map<string, string>): void {
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
  // A message is told apart from its absence even when it is empty.
  if (rule !== undefined || (type !== "string" && type !== "bool")) return true;
  return written !== "" && written !== false;
}

function fieldForm([, type, rule]: FieldRow, value: unknown, path: string): unknown {
  if (rule === "repeated") {
    if (!Array.isArray(value)) throw new TypeError(`${path} must be an array`);
    return Array.from(value, (item, index) => valueForm(type, item, `${path}[${index}]`));
  }
  if (rule === "map") {
    const entries = Object.entries(objectOf(value, path));
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
      return structForm(objectOf(value, path), path);
    default:
      return messageForm(type, value, path);
  }
}

/** Any JSON object, as it is: in there nothing has a default. */
function structForm(value: object, path: string): unknown {
  try {
    return JSON.parse(canonicalJson(value)) as unknown;
  } catch (error) {
    throw new TypeError(`${path} must be JSON: ${(error as Error).message}`, { cause: error });
  }
}

function objectOf(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError(`${path} must be an object`);
  }
  return value as Readonly<Record<string, unknown>>;
}

/** What remains when everything empty is gone, from the inside out; `undefined` when nothing does. */
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

type CardMessages = typeof CARD_MESSAGES;

function isRequired(message: string, field: string): boolean {
  return (
    (REQUIRED as Readonly<Record<string, readonly string[]>>)[message]?.includes(field) === true
  );
}
