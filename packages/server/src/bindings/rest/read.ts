import {
  A2AError,
  CODECS,
  type Codec,
  LEGACY_CODECS,
  type OperationName,
  PROTO_CODECS,
  type ProtocolVersion,
  invalidParams,
} from "@convoke/protocol";
import { parseTenant } from "../../guard/guard.ts";
import {
  type HttpRequest,
  checkNumbers,
  header,
  parseJson,
  requestedVersion,
} from "../../http/exchange.ts";
import { asksForKinds, checkContentType } from "./media-types.ts";
import { type JsonObject, isObject, snakeCase } from "@convoke/protocol/internal";
import type { MatchedRest, PathParams, Route } from "./routes.ts";

/** A request as the codec reads it. */
export interface RestCall {
  readonly operation: OperationName;
  readonly codec: Codec;
  readonly params: JsonObject;
  readonly tenant: string | undefined;
}

/** Combines path, query and body into the request object of the codec. */
export async function readRest(
  opened: MatchedRest,
  route: Route,
  isStrict: boolean,
): Promise<RestCall> {
  const { request, version, encoded } = opened;
  const { operation, naming, query = {}, shape = {} } = route;
  checkVersion(request, version);
  const names: PathParams = {
    taskId: decodeName(encoded, "taskId") ?? "",
    configId: decodeName(encoded, "configId") ?? "",
  };
  const body = request.method === "POST" ? await readBody(request) : {};
  const hasKinds = isKindDialect(body) || (!takesObjects(route) && asksForKinds(request));
  const codec = codecFor(version, hasKinds, isStrict);
  const shaped = shape[codec.dialect]?.(body) ?? body;
  const given: JsonObject = { ...readQuery(request.query, query), ...shaped };
  const named = naming[codec.dialect](names);
  for (const [field, value] of Object.entries(named)) checkAgreement(field, value, given[field]);
  // 0.3 has no tenants.
  const tenant = version === "1.0" ? tenantIn(opened, body) : undefined;
  const params = { ...given, ...named, ...(tenant !== undefined && { tenant }) };
  return { operation, codec, params, tenant };
}

/** The path determines the version; a header with another version is rejected (1.0 §3.6.2). */
function checkVersion(request: HttpRequest, spoken: ProtocolVersion): void {
  const requested = requestedVersion(request);
  if (requested === undefined || requested === spoken) return;
  const hint = spoken === "0.3" ? "its paths have no /v1" : "its paths begin with /v1";
  throw new A2AError(
    "VersionNotSupported",
    `${request.path} is a path of A2A ${spoken}, and the request asks for ${requested}: ${hint}`,
    { details: { requested, supported: spoken } },
  );
}

/** Whether the body of the request is an object of the protocol, which shows its dialect. */
function takesObjects({ operation }: Route): boolean {
  return OBJECT_BODIES.has(operation);
}

const OBJECT_BODIES: ReadonlySet<OperationName> = new Set([
  "sendMessage",
  "sendStreamingMessage",
  "createPushConfig",
]);

/** Responses of 0.3 use the dialect of the request. The official REST dialect of 0.3 is the one of its proto. */
function codecFor(version: ProtocolVersion, hasKinds: boolean, isStrict: boolean): Codec {
  if (version !== "0.3" || !hasKinds) return PROTO_CODECS[version];
  // The same codec as for JSON-RPC, so that events are encoded once for both.
  return (isStrict ? CODECS : LEGACY_CODECS)["0.3"];
}

async function readBody(request: HttpRequest): Promise<JsonObject> {
  const bytes = await request.body();
  if (bytes.length === 0) return {};
  checkContentType(header(request, "content-type"));
  const body = parseJson(bytes);
  checkNumbers(body);
  if (isObject(body)) return body;
  throw new A2AError("InvalidRequest", "the body must be a JSON object");
}

function decodeName(encoded: MatchedRest["encoded"], name: string): string | undefined {
  const text = encoded[name];
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    throw invalidParams(name, `is not percent-encoded UTF-8 in the path: ${text}`);
  }
}

/** In 1.0 the tenant can be in the path, the query or the body (1.0 §8.3.2, proto). */
function tenantIn({ request, encoded }: MatchedRest, body: JsonObject): string | undefined {
  const given = [
    decodeName(encoded, "tenant"),
    onlyValue(request.query, "tenant"),
    parseTenant(body),
  ].filter((tenant) => tenant !== undefined && tenant !== "");
  const [tenant] = given;
  for (const again of given) checkAgreement("tenant", tenant, again);
  return tenant;
}

/** A value that is given twice must be the same. An empty string counts as absent in ProtoJSON. */
function checkAgreement(field: string, first: string | undefined, again: unknown): void {
  if (again === undefined || again === null || again === "" || again === first) return;
  const [one, other] = [first, again].map((value) => JSON.stringify(value));
  throw invalidParams(field, `is ${one} in one place and ${other} in another`);
}

/** The type of a query parameter (1.0 §11.5). */
export type QueryType = "text" | "integer" | "boolean";

/** Parses the known parameters of a query, and ignores others. */
function readQuery(
  query: URLSearchParams,
  types: Readonly<Record<string, QueryType>>,
): Readonly<Record<string, unknown>> {
  const read: Record<string, unknown> = {};
  for (const [name, type] of Object.entries(types)) {
    const value = valueUnderEitherName(query, name);
    if (value !== undefined) read[name] = READERS[type](value, name);
  }
  return read;
}

/** A parameter under its JSON name or the name in the proto, as in `history_length`. */
function valueUnderEitherName(query: URLSearchParams, name: string): string | undefined {
  const [value, again] = [onlyValue(query, name), onlyValue(query, snakeCase(name))];
  checkAgreement(name, value ?? again, again);
  return value ?? again;
}

const READERS: Readonly<Record<QueryType, (value: string, name: string) => unknown>> = {
  text: (value) => value,
  integer: (value, name) => {
    const number = Number(value);
    if (/^-?\d+$/.test(value) && Number.isSafeInteger(number)) return number;
    throw invalidParams(name, `must be an integer, not ${JSON.stringify(value)}`);
  },
  boolean: (value, name) => {
    if (value === "true" || value === "false") return value === "true";
    throw invalidParams(name, `must be true or false, not ${JSON.stringify(value)}`);
  },
};

/** The value of a parameter that must not be repeated. */
function onlyValue(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1) throw invalidParams(name, `is given ${values.length} times; give it once`);
  return values[0];
}

/**
 * Whether a body of 0.3 uses the dialect of JSON-RPC, which has `kind` fields. The
 * proto of 0.3 has no such field (0.3 §3.2).
 */
function isKindDialect(body: JsonObject): boolean {
  const message = body["message"] as { readonly parts?: unknown } | undefined;
  const parts: readonly unknown[] = Array.isArray(message?.parts) ? message.parts : [];
  return [body, message, ...parts].some(hasKind);
}

function hasKind(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "kind");
}
