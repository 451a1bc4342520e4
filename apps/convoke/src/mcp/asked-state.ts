/** Which question a host was given to ask. It comes back with the answer. */
export interface AskedState {
  readonly taskId: string;
  /** The message that asks; after another one an answer would be for something else. */
  readonly messageId: string | undefined;
  /** A person was sent to an address and has opened it. */
  readonly wasVisited: boolean;
}

export function writeState(state: AskedState): string {
  return JSON.stringify(state);
}

/**
 * What a host sends back may be anything. It needs no seal: it names a task as
 * the argument `taskId` does, and the answer goes to whatever that task asks now.
 */
export function readState(state: unknown): AskedState | undefined {
  if (typeof state !== "string") return undefined;
  try {
    const { taskId, messageId, wasVisited } = JSON.parse(state) as Partial<AskedState>;
    if (typeof taskId !== "string" || taskId === "") return undefined;
    return { taskId, messageId, wasVisited: wasVisited === true };
  } catch {
    return undefined;
  }
}
