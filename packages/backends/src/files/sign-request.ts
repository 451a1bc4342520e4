import { createHmac, hash } from "node:crypto";

/** The access key of an object store. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of temporary credentials. */
  readonly sessionToken?: string | undefined;
}

/** A request to an object store. */
export interface S3Request {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  readonly url: URL;
  /** In lower case. All of them are signed. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The SHA-256 of the body in hexadecimal digits. Default: that of no body. */
  readonly bodyDigest?: string | undefined;
}

const NO_BODY = hash("sha256", "", "hex");

/** The headers of a request with its signature: AWS Signature Version 4 in the `Authorization` header. */
export function signRequest(
  { method, url, headers = {}, bodyDigest = NO_BODY }: S3Request,
  credentials: S3Credentials & { readonly region: string },
  now: Date,
): Readonly<Record<string, string>> {
  const { accessKeyId, secretAccessKey, sessionToken, region } = credentials;
  const time = now.toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const day = time.slice(0, 8);
  const signed: Record<string, string> = {
    ...headers,
    host: url.host,
    "x-amz-content-sha256": bodyDigest,
    "x-amz-date": time,
    ...(sessionToken !== undefined && { "x-amz-security-token": sessionToken }),
  };
  const names = Object.keys(signed).toSorted();
  const canonical = [
    method,
    url.pathname,
    canonicalQuery(url),
    ...names.map((name) => `${name}:${signed[name]!.trim()}`),
    "",
    names.join(";"),
    bodyDigest,
  ].join("\n");
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", time, scope, hash("sha256", canonical, "hex")].join("\n");
  const key = [day, region, "s3", "aws4_request"].reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${secretAccessKey}`,
  );
  const { host: _, ...sent } = signed;
  return {
    ...sent,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names.join(";")}, Signature=${hmac(key, text).toString("hex")}`,
  };
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

/** Sorted, and encoded as RFC 3986 says: `URLSearchParams` writes a space as a plus sign. */
function canonicalQuery({ searchParams }: URL): string {
  return [...searchParams]
    .map(([name, value]) => `${encodeExactly(name)}=${encodeExactly(value)}`)
    .toSorted()
    .join("&");
}

/** Encodes everything except letters, digits and `-._~`. */
export function encodeExactly(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
