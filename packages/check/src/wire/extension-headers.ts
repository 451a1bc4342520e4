import type { ProtocolVersion } from "@convoke/protocol";
import type { CardView } from "../scene/card-view.ts";
import type { WireHeaders } from "./call.ts";

/** The header that names extensions, which lost its X in 1.0 (§3.2.6). */
export function extensionHeader(version: ProtocolVersion): string {
  return version === "1.0" ? "a2a-extensions" : "x-a2a-extensions";
}

/** What an agent requires is declared with every request, or it would refuse them all. */
export function extensionHeaders(card: CardView, version: ProtocolVersion): WireHeaders {
  const required = card.extensions.filter(({ required }) => required).map(({ uri }) => uri);
  return required.length === 0 ? {} : { [extensionHeader(version)]: required.join(",") };
}
