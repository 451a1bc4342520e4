/** Something that an agent did to the world outside. */
export interface Effect {
  /** The messageId of the task's message: who did it. */
  readonly by: string;
  /** What was done. */
  readonly name: string;
  /** Present when the world can tell a repetition by it. */
  readonly key?: string;
}

/** Does it, and resolves to the phase that the receiver is in. */
export async function cause(receiverUrl: string, effect: Effect): Promise<number> {
  const response = await fetch(new URL("/effects", receiverUrl), {
    method: "POST",
    body: JSON.stringify(effect),
  });
  return ((await response.json()) as { readonly phase: number }).phase;
}
