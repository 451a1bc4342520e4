import { decodeBase64Url, encodeBase64Url } from "./base64url.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import { duplicateKey } from "./duplicate-key.ts";

/** What a signature says of itself; covered by it, yet to be believed only once it verifies. */
export interface CardSignatureHeader {
  readonly kid: string;
  readonly alg: string;
  /** Where the signer says its keys are. Anyone can write anything here: fetch known hosts only. */
  readonly jku?: string;
}

/** Many times what a header needs; the rest would only fill logs. */
const MAX_LENGTH = 4096;

export function writeProtectedHeader({ kid, alg, jku }: CardSignatureHeader): string {
  const header = { alg, kid, typ: "JOSE", ...(jku !== undefined && { jku }) };
  return encodeBase64Url(new TextEncoder().encode(canonicalJson(header)));
}

/** Reads the header as strictly as RFC 7515 allows; throws what is wrong with it. */
export function readProtectedHeader(text: string, unprotected: unknown): CardSignatureHeader {
  const header = parse(text);
  refuseOverlap(header, unprotected);
  // There is no extension that this code understands, and `crit` lists those that must be.
  if (Object.hasOwn(header, "crit"))
    throw new TypeError("has a crit header, which is not understood");
  const { alg, kid, jku } = header;
  if (typeof alg !== "string") throw new TypeError("names no alg in its protected header");
  if (typeof kid !== "string" || kid === "") {
    throw new TypeError("names no kid in its protected header");
  }
  if (jku !== undefined && typeof jku !== "string")
    throw new TypeError("has a jku that is no text");
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
  if (!isObject(header)) throw new TypeError("has a protected header that is no JSON object");
  const twice = duplicateKey(json);
  if (twice !== undefined) {
    throw new TypeError(`has ${JSON.stringify(twice)} twice in its protected header`);
  }
  return header;
}

/** RFC 7515 §7.2.1: no name may be in both, else the unsigned one might be taken for the signed. */
function refuseOverlap(header: Header, unprotected: unknown): void {
  if (unprotected === undefined || unprotected === null) return;
  if (!isObject(unprotected)) throw new TypeError("has a header that is no object");
  const shared = Object.keys(unprotected).find(
    (name) => name === "crit" || Object.hasOwn(header, name),
  );
  if (shared !== undefined) {
    throw new TypeError(`has ${JSON.stringify(shared)} in its unprotected header`);
  }
}

function isObject(value: unknown): value is Header {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
