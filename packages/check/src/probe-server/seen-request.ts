import {
  type OperationName,
  type ProtocolVersion,
  REST_ROUTES,
  type RestRoute,
  findMethod,
} from "@convoke/protocol";
import { GRPC_SERVICES, type GrpcMethod } from "@convoke/protocol/grpc";
import { isObject } from "@convoke/protocol/internal";
import type { Binding, WireHeaders } from "../wire/client.ts";
import { parseJson, textAt } from "../wire/json.ts";

/** What a request asks for; "unknown" if its version has no such operation. */
export type Step = OperationName | "card" | "unknown";

/** How the agent of a probe is called. */
export interface Speaking {
  readonly binding: Binding;
  readonly version: ProtocolVersion;
}

/** A request of the client, as it arrived. */
export interface SeenRequest {
  readonly step: Step;
  /** Its ordinal among the requests for the same step, starting at 1. */
  readonly count: number;
  /** It arrived at the other origin, which a probe's card or redirect leads to. */
  readonly isForeign: boolean;
  readonly method: string;
  /** Below the URL of the probe. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Or the metadata of gRPC. */
  readonly headers: WireHeaders;
  /** The body as text; "" on gRPC. */
  readonly body: string;
  /** The JSON-RPC request, or the JSON of a REST body. */
  readonly json: unknown;
  /** The parameters of the operation. On REST, those in the path and the query are among them. */
  readonly params: unknown;
  /** When it arrived, in milliseconds. */
  readonly atMs: number;
}

type Recognized = Pick<SeenRequest, "step" | "json" | "params">;

/** The parts of an HTTP request that say what it asks for. */
export interface HttpParts extends Pick<SeenRequest, "method" | "path" | "query" | "body"> {}

/** Finds the operation of an HTTP request. */
export function recognize(speaking: Speaking, request: HttpParts): Recognized {
  const { method, path, body } = request;
  const json = parseJson(body);
  if (method === "GET" && /agent(-card)?\.json$/.test(path)) {
    return { step: "card", json, params: undefined };
  }
  if (speaking.binding === "rest") return recognizeRest(speaking.version, request, json);
  const found = findMethod(textAt(json, "method"));
  const params = isObject(json) ? json["params"] : undefined;
  const isKnown = method === "POST" && path.endsWith("/rpc") && found?.version === speaking.version;
  return { step: isKnown ? found.operation : "unknown", json, params };
}

function recognizeRest(
  version: ProtocolVersion,
  { method, path, query }: HttpParts,
  json: unknown,
): Recognized {
  for (const [operation, route] of Object.entries(REST_ROUTES) as [OperationName, RestRoute][]) {
    if (!route.methods.some((each) => each === method)) continue;
    const found = patternFor(route.paths[version]).exec(path)?.groups;
    if (found === undefined) continue;
    const inPath = Object.fromEntries(
      Object.entries(found).map(([name, value]) => [name, decoded(value ?? "")]),
    );
    return { step: operation, json, params: { ...asObject(json), ...query, ...inPath } };
  }
  return { step: "unknown", json, params: json };
}

/**
 * `/tasks/{taskId}:cancel` as a pattern. A tenant or another prefix may come before it, but not the
 * `v1` of 0.3.
 */
function patternFor(template: string): RegExp {
  const pattern = template.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/:]+)");
  return new RegExp(`^(?:/(?<tenant>(?!v1/)[^/:]+))?${pattern}$`);
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

function asObject(json: unknown): object {
  return isObject(json) ? json : {};
}

/** The method at a gRPC path, if the version has it. */
export function findGrpcMethod(version: ProtocolVersion, path: string): GrpcMethod | undefined {
  return GRPC_SERVICES[version].methods.find((method) => method.path === path);
}
