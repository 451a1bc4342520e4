import type { CardPublicKey } from "@convoke/protocol";
import { isOriginOf } from "../auth/origins.ts";
import type { ReadUrl } from "./find-card.ts";

export interface KeySetPlace {
  /** Where the signature says that its keys are. */
  readonly jku: string | undefined;
  readonly cardUrl: string;
  readonly jkuOrigins: readonly string[];
  readonly trustedOrigin: string;
}

/**
 * The keys of a signature (RFC 7517), or in words why they are not looked for.
 * Anyone can write anything into a signature, so only the card's own origin and
 * those that the user listed are asked, and only over HTTPS, unless the user gave
 * the address without it.
 */
export async function readKeySet(
  { jku, cardUrl, jkuOrigins, trustedOrigin }: KeySetPlace,
  read: ReadUrl,
): Promise<readonly CardPublicKey[] | string> {
  if (jku === undefined) return "no key is known and it names no jku; give trustedKeys";
  if (!URL.canParse(jku)) return `its jku "${jku}" is no URL`;
  const { origin, protocol } = new URL(jku);
  if (!isOriginOf([new URL(cardUrl).origin, ...jkuOrigins], jku)) {
    return `its keys are at ${origin}, which is not asked; give jkuOrigins or trustedKeys`;
  }
  if (protocol !== "https:" && origin !== trustedOrigin) {
    return `its keys are at ${origin}, which is not asked without https`;
  }
  return keysIn(await read(jku));
}

function keysIn({ status, statusText, text, url }: Awaited<ReturnType<ReadUrl>>) {
  if (status !== 200) throw new TypeError(`${url} answered ${status} ${statusText}`.trim());
  let keys: unknown;
  try {
    ({ keys } = (JSON.parse(text) ?? {}) as { readonly keys?: unknown });
  } catch {
    throw new TypeError(`${url} answered with something that is not JSON`);
  }
  if (!Array.isArray(keys)) throw new TypeError(`${url} shows no keys`);
  return keys.filter((key) => typeof key === "object" && key !== null) as CardPublicKey[];
}
