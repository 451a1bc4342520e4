import { A2AError } from "@convoke/protocol";

/** Names under which a server on this machine is always reached. */
const LOCAL = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Refuses requests that were not meant for this server: a web page that points
 * a name of its own at a local address (DNS rebinding) still sends that name.
 */
export function createHostCheck(allowed: readonly string[]): (host: string | undefined) => void {
  const names = new Set([...LOCAL, ...allowed.map((name) => name.toLowerCase())]);
  // A server that listens everywhere has no name of its own.
  names.delete("");
  return (host) => {
    const given = host?.toLowerCase() ?? "";
    if (names.has(given) || names.has(given.replace(/:\d+$/, ""))) return;
    const detail = `host ${JSON.stringify(given)} is not served here; list it in CONVOKE_ALLOWED_HOSTS (allowedHosts)`;
    throw new A2AError("Forbidden", detail, { details: { reason: "forbidden" } });
  };
}
