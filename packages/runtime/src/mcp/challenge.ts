import { webUrl } from "../tools/web-url.ts";

/** What a server says of how to sign in. */
export interface Challenge {
  readonly url?: string;
  readonly realm?: string;
  readonly scope?: string;
}

const MAX_TEXT = 200;

/** Reads a `WWW-Authenticate` header (RFC 9110 §11.6.1, RFC 9728 §5.1). */
export function readChallenge(header: string | null): Challenge {
  const fields = new Map<string, string>();
  for (const [, name, quoted, plain] of (header ?? "").matchAll(
    /([a-z_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/gi,
  )) {
    const value = quoted === undefined ? plain! : quoted.replaceAll(/\\(.)/g, "$1");
    fields.set(name!.toLowerCase(), value);
  }
  const url = webUrl(fields.get("authorization_uri") ?? fields.get("resource_metadata"));
  const realm = fields.get("realm")?.slice(0, MAX_TEXT);
  const scope = fields.get("scope")?.slice(0, MAX_TEXT);
  return {
    ...(url !== undefined && { url }),
    ...(realm && { realm }),
    ...(scope && { scope }),
  };
}
