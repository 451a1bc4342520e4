import { decodeBase64Url } from "../internal/base64url.ts";
import { canonicalJson, isObject } from "../internal/json.ts";

/** The protected header of a signature. Do not trust it until the signature verifies. */
export interface CardSignatureHeader {
  readonly kid: string;
  readonly alg: string;
  /** Where the signer says its keys are. Untrusted: fetch from known hosts only. */
  readonly jku?: string;
}

/** Many times what a header needs. */
const MAX_LENGTH = 4096;

/** The header of a new signature. In canonical order: the same key always writes the same bytes. */
export function createProtectedHeader({ kid, alg, jku }: CardSignatureHeader): CardSignatureHeader {
  const header = { alg, kid, typ: "JOSE", ...(jku !== undefined && { jku }) };
  return JSON.parse(canonicalJson(header)) as CardSignatureHeader;
}

/**
 * Parses the header as strictly as RFC 7515 allows; throws a TypeError that says what is wrong. jose
 * is more lenient: it accepts padding, a byte order mark, and a key that is there twice.
 */
export function readProtectedHeader(text: string, unprotected: unknown): CardSignatureHeader {
  const header = parse(text);
  rejectOverlap(header, unprotected);
  // `crit` lists extensions that must be understood, and we understand none.
  if (Object.hasOwn(header, "crit"))
    throw new TypeError("has a crit header, which is not understood");
  const { alg, kid, jku } = header;
  if (typeof alg !== "string") throw new TypeError("names no alg in its protected header");
  if (typeof kid !== "string" || kid === "") {
    throw new TypeError("names no kid in its protected header");
  }
  if (jku !== undefined && typeof jku !== "string")
    throw new TypeError("has a jku that is not a string");
  return { alg, kid, ...(jku !== undefined && { jku }) };
}

type Header = Readonly<Record<string, unknown>>;

function parse(text: string): Header {
  if (text.length > MAX_LENGTH) {
    throw new TypeError(`has a protected header of more than ${MAX_LENGTH} characters`);
  }
  const bytes = decodeBase64Url(text);
  if (bytes === undefined) throw new TypeError("has a protected header that is not base64url");
  let json: string;
  let header: unknown;
  try {
    json = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    header = JSON.parse(json);
  } catch (error) {
    throw new TypeError("has a protected header that is not JSON", { cause: error });
  }
  if (!isObject(header)) throw new TypeError("has a protected header that is not a JSON object");
  const twice = duplicateKey(json);
  if (twice !== undefined) {
    throw new TypeError(`has ${JSON.stringify(twice)} twice in its protected header`);
  }
  return header;
}

/** RFC 7515 §7.2.1: no name may be in both headers; otherwise the unsigned one could be mistaken for the signed one. */
function rejectOverlap(header: Header, unprotected: unknown): void {
  if (unprotected === undefined || unprotected === null) return;
  if (!isObject(unprotected)) throw new TypeError("has a header that is not an object");
  const shared = Object.keys(unprotected).find(
    (name) => name === "crit" || Object.hasOwn(header, name),
  );
  if (shared !== undefined) {
    throw new TypeError(`has ${JSON.stringify(shared)} in its unprotected header`);
  }
}

/** Matches whole strings, so that braces inside them do not count; a key includes its colon. */
const TOKENS = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}]/g;

/**
 * A key that an object in a JSON text has twice, if any. Readers differ in which of the two they
 * use, so such a text is ambiguous. The text must be valid JSON.
 */
export function duplicateKey(json: string): string | undefined {
  const open: Set<string>[] = [];
  for (const [token, colon] of json.matchAll(TOKENS)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (colon !== undefined) {
      // Parsed, because "alg" and "\u0061lg" are the same key.
      const key = JSON.parse(token.slice(0, -colon.length)) as string;
      const seen = open.at(-1);
      if (seen?.has(key)) return key;
      seen?.add(key);
    }
  }
  return undefined;
}
