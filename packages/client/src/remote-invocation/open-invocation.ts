import { A2aInvocation } from "./a2a-invocation.ts";
import { readCard } from "./agent-cards.ts";
import { ExternalServiceError } from "./errors.ts";
import type { Invocation, Order } from "./invocation.ts";
import { LegacyInvocation } from "./legacy-invocation.ts";
import { speaksA2a } from "./speaks-a2a.ts";

/** Agents of the polling protocol need no card; those of A2A do. */
const NO_CARD: ReadonlySet<number | undefined> = new Set([404, 410]);

/** Chooses the protocol by one look at the card, before anything is sent. */
export async function openInvocation(order: Order, signal: AbortSignal): Promise<Invocation> {
  const { protocol = "auto", limits, signatures } = order.options;
  if (protocol === "legacy") return new LegacyInvocation(order);
  // Who demands a signed card must not be led to a protocol that looks at none.
  const mustBeA2a = protocol === "a2a" || signatures === "require";
  try {
    const reading = { ...order.options, signal, timeoutMs: limits?.cardMs };
    const card = await readCard(order.base, reading);
    const isA2a = mustBeA2a || speaksA2a(card);
    return isA2a ? new A2aInvocation(order, card) : new LegacyInvocation(order);
  } catch (error) {
    const hasNone = error instanceof ExternalServiceError && NO_CARD.has(error.status);
    if (hasNone && !mustBeA2a) return new LegacyInvocation(order);
    throw error;
  }
}
