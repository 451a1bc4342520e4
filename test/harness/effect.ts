/** A side effect of an agent. */
export interface Effect {
  /** The task that caused it: its id, or the id of its message. */
  readonly by: string;
  /** What was done. */
  readonly name: string;
  /** An idempotency key that identifies a repetition. */
  readonly key?: string;
}

/** Sends the effect to the receiver, and returns the phase that the receiver is in. */
export async function cause(receiverUrl: string, effect: Effect): Promise<number> {
  const response = await fetch(new URL("/effects", receiverUrl), {
    method: "POST",
    body: JSON.stringify(effect),
  });
  return ((await response.json()) as { readonly phase: number }).phase;
}
