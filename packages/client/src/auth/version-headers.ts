import type { ProtocolVersion } from "@convoke/protocol";

/**
 * The version that a request is in and the extensions that it asks for (1.0
 * §3.6.1, §4.6.3). 0.3 calls the latter by another name, and its later servers by both.
 */
export function versionHeaders(
  version: ProtocolVersion,
  extensions: readonly string[] = [],
): Readonly<Record<string, string>> {
  const asked = extensions.join(", ");
  return {
    "A2A-Version": version,
    ...(asked !== "" && { "A2A-Extensions": asked }),
    ...(asked !== "" && version === "0.3" && { "X-A2A-Extensions": asked }),
  };
}
