import { type Metadata } from "@convoke/protocol";
import { canonicalJson } from "@convoke/protocol/internal";
import { createHash } from "node:crypto";

/** The digest of arguments: SHA-256 of their one spelling (RFC 8785), in base64url. */
export function digestArguments(toolArguments: Metadata): string {
  const hash = createHash("sha256").update(canonicalJson(toolArguments)).digest("base64url");
  return `sha-256:${hash}`;
}
