import { A2AError, type ProtocolVersion } from "@convoke/protocol";
import { type HttpRequest, header } from "../../http/exchange.ts";

const JSON_TYPE = "application/json";
/** 1.0.1 §11.1. */
const A2A_TYPE = "application/a2a+json";

/** Ranges that take 1.0's own type. */
const TAKES_A2A: ReadonlySet<string> = new Set([A2A_TYPE, "application/*", "*/*"]);

/** The type of JSON that the caller gets: 1.0's own, unless it takes only the plain one. */
export function answerType(request: HttpRequest, version: ProtocolVersion): string {
  if (version === "0.3") return JSON_TYPE;
  const ranges = (header(request, "accept") ?? "").toLowerCase().split(",").filter(isWanted);
  const types = ranges.map(typeOf);
  return types.includes(JSON_TYPE) && !types.some((type) => TAKES_A2A.has(type))
    ? JSON_TYPE
    : A2A_TYPE;
}

/** RFC 9110 §12.4.2: a weight of 0 means "not this". */
function isWanted(range: string): boolean {
  return !/;\s*q=0(?:\.0*)?\s*(?:;|$)/.test(range);
}

/** Refuses a body that is not declared as JSON. */
export function checkContentType(contentType: string | undefined): void {
  const type = contentType === undefined ? undefined : typeOf(contentType.toLowerCase());
  if (type === JSON_TYPE || type === A2A_TYPE) return;
  const given = type === undefined ? "the request has no Content-Type" : `Content-Type is ${type}`;
  throw new A2AError("UnsupportedMediaType", `${given}; it must be ${JSON_TYPE} or ${A2A_TYPE}`, {
    field: "Content-Type",
  });
}

function typeOf(value: string): string {
  return value.split(";")[0]!.trim();
}
