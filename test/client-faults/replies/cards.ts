import type { FaultCall, FaultReply } from "../fault-scenario.ts";
import { type WholeOptions, whole } from "./http.ts";

export const AGENT_NAME = "Greeter";

/** The card fields that all correct agents have in common, in both versions. */
const DESCRIPTION = {
  name: AGENT_NAME,
  description: "Greets people.",
  version: "2.1.0",
  capabilities: { streaming: true, pushNotifications: false },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "greet", name: "Greet", description: "Says hello.", tags: ["hello"] }],
};

export type Card = Readonly<Record<string, unknown>>;

/** The card of an agent with a single version and binding, at its own URL. */
export function cardOf(call: Pick<FaultCall, "speaking" | "origin" | "grpc">): Card {
  const { binding, version } = call.speaking;
  const url = binding === "GRPC" ? call.grpc : `${call.origin}/a2a`;
  if (version === "0.3") {
    return { protocolVersion: "0.3.0", ...DESCRIPTION, url, preferredTransport: binding };
  }
  const at = { url, protocolBinding: binding, protocolVersion: "1.0" };
  return { ...DESCRIPTION, supportedInterfaces: [at] };
}

/** Serves the card with a change. */
export function showsCard(
  change: (card: Card, call: FaultCall) => unknown = (card) => card,
  options?: WholeOptions,
): FaultReply {
  return (call) => whole(JSON.stringify(change(cardOf(call), call)), options);
}

/** The same card with another URL. */
export function withUrl(card: Card, url: string): Card {
  if (!("supportedInterfaces" in card)) return { ...card, url };
  const [first] = card["supportedInterfaces"] as readonly object[];
  return { ...card, supportedInterfaces: [{ ...first, url }] };
}
