import { A2AError, type ProtocolVersion } from "@convoke/protocol";
import { type HttpRequest, header } from "../../http/exchange.ts";

const JSON_TYPE = "application/json";
/** 1.0.1 §11.1. */
const A2A_TYPE = "application/a2a+json";

/** Media ranges that include the type of 1.0. */
const INCLUDES_A2A: ReadonlySet<string> = new Set([A2A_TYPE, "application/*", "*/*"]);

/** The content type of a response: the one of 1.0, unless the client accepts only plain JSON. */
export function responseType(request: HttpRequest, version: ProtocolVersion): string {
  if (version === "0.3") return JSON_TYPE;
  const ranges = (header(request, "accept") ?? "").toLowerCase().split(",").filter(isAccepted);
  const types = ranges.map(bareType);
  return types.includes(JSON_TYPE) && !types.some((type) => INCLUDES_A2A.has(type))
    ? JSON_TYPE
    : A2A_TYPE;
}

/** RFC 9110 §12.4.2: a weight of 0 means "not acceptable". */
function isAccepted(range: string): boolean {
  return !/;\s*q=0(?:\.0*)?\s*(?:;|$)/.test(range);
}

/**
 * Whether the client asks for the objects of JSON-RPC, which have a `kind`, with
 * `Accept: application/json; dialect=kind` or `?dialect=kind`. Requests without a body cannot show
 * their dialect otherwise.
 */
export function asksForKinds(request: HttpRequest): boolean {
  if (request.query.get("dialect") === "kind") return true;
  const ranges = (header(request, "accept") ?? "").toLowerCase().split(",").filter(isAccepted);
  return ranges.some((range) => /;\s*dialect="?kind"?\s*(?:;|$)/.test(range));
}

/** Rejects a body that is not declared as JSON. */
export function checkContentType(contentType: string | undefined): void {
  const type = contentType === undefined ? undefined : bareType(contentType.toLowerCase());
  if (type === JSON_TYPE || type === A2A_TYPE) return;
  const given = type === undefined ? "the request has no Content-Type" : `Content-Type is ${type}`;
  throw new A2AError("UnsupportedMediaType", `${given}; it must be ${JSON_TYPE} or ${A2A_TYPE}`, {
    field: "Content-Type",
  });
}

function bareType(value: string): string {
  return value.split(";")[0]!.trim();
}
