import {
  A2AError,
  CODECS,
  type Codec,
  LENIENT_CODECS,
  type OperationName,
  PROTO_CODECS,
  type ProtocolVersion,
  invalidParams,
} from "@convoke/protocol";
import { tenantOf } from "../../guard/tenant.ts";
import { type HttpRequest, header } from "../../http/exchange.ts";
import { parseJson } from "../../http/parse-json.ts";
import { requestedVersion } from "../../http/requested-version.ts";
import { isKindDialect } from "./kind-dialect.ts";
import { checkContentType } from "./media-types.ts";
import type { OpenedRest } from "./open.ts";
import { onlyValue, readQuery } from "./query.ts";
import type { Fields, PathNames, Route } from "./routes.ts";

/** What a request means, in the words of its codec. */
export interface RestCall {
  readonly operation: OperationName;
  readonly codec: Codec;
  readonly params: Fields;
  readonly tenant: string | undefined;
}

/** Joins path, query and body to the request object that the codec takes. */
export async function readRest(
  opened: OpenedRest,
  route: Route,
  isStrict: boolean,
): Promise<RestCall> {
  const { request, version, written } = opened;
  const { operation, naming, query = {}, shape = {} } = route;
  checkVersion(request, version);
  const names: PathNames = {
    taskId: decodeName(written, "taskId") ?? "",
    configId: decodeName(written, "configId") ?? "",
  };
  const body = request.method === "POST" ? await readBody(request) : {};
  const codec = codecOf(version, body, isStrict);
  const shaped = shape[codec.dialect]?.(body) ?? body;
  const given: Fields = { ...readQuery(request.query, query), ...shaped };
  const named = naming[codec.dialect](names);
  for (const [field, value] of Object.entries(named)) checkAgreement(field, value, given[field]);
  // 0.3 has no tenants.
  const tenant = version === "1.0" ? tenantIn(opened, body) : undefined;
  const params = { ...given, ...named, ...(tenant !== undefined && { tenant }) };
  return { operation, codec, params, tenant };
}

/** The path decides on the version, so whoever asks for another one is at the wrong address (1.0 §3.6.2). */
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

/** 0.3 is answered as it is spoken to; its official REST dialect is the one of its proto. */
function codecOf(version: ProtocolVersion, body: Fields, isStrict: boolean): Codec {
  if (version !== "0.3" || !isKindDialect(body)) return PROTO_CODECS[version];
  // The same as on JSON-RPC: an event is written once for both.
  return (isStrict ? CODECS : LENIENT_CODECS)["0.3"];
}

async function readBody(request: HttpRequest): Promise<Fields> {
  const bytes = await request.body();
  if (bytes.length === 0) return {};
  checkContentType(header(request, "content-type"));
  const body = parseJson(bytes);
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as Fields;
  throw new A2AError("InvalidRequest", "the body must be a JSON object");
}

function decodeName(written: OpenedRest["written"], name: string): string | undefined {
  const text = written[name];
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    throw invalidParams(name, `is not percent-encoded UTF-8 in the path: ${text}`);
  }
}

/** 1.0 names the tenant in the path, the query or the body (1.0 §8.3.2, proto). */
function tenantIn({ request, written }: OpenedRest, body: Fields): string | undefined {
  const given = [
    decodeName(written, "tenant"),
    onlyValue(request.query, "tenant"),
    tenantOf(body),
  ].filter((tenant) => tenant !== undefined && tenant !== "");
  const [tenant] = given;
  for (const again of given) checkAgreement("tenant", tenant, again);
  return tenant;
}

/** What is said twice must be said alike. An empty text says nothing in ProtoJSON. */
function checkAgreement(field: string, first: string | undefined, again: unknown): void {
  if (again === undefined || again === null || again === "" || again === first) return;
  const [one, other] = [first, again].map((value) => JSON.stringify(value));
  throw invalidParams(field, `is ${one} in one place and ${other} in another`);
}
