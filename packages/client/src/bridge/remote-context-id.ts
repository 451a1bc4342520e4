/**
 * The context at the remote agent for a context of a caller here: one for one,
 * and the same after a restart. It is derived, and from the caller too, because
 * to the remote agent all callers are one: whoever names somebody else's
 * context here must not find it there.
 */
export async function remoteContextId(owner: string, contextId: string): Promise<string> {
  const name = new TextEncoder().encode(JSON.stringify(["convoke bridge", owner, contextId]));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", name));
  const hex = Array.from(digest.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0"));
  // Version 8 of RFC 9562: an id of one's own making.
  hex[6] = `8${hex[6]![1]}`;
  hex[8] = `a${hex[8]![1]}`;
  const text = hex.join("");
  return [8, 12, 16, 20, 32]
    .map((end, place, ends) => text.slice(place === 0 ? 0 : ends[place - 1], end))
    .join("-");
}
