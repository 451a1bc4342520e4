import type { Task } from "@convoke/protocol";
import type { Seen } from "./extension-agent.ts";

/** What the agent reports, in the last of its artifacts. */
export function seenIn({ artifacts = [], status }: Task): Seen {
  const [part] = artifacts.at(-1)?.parts ?? [];
  if (part?.kind !== "data")
    throw new Error(`The agent has seen nothing: ${JSON.stringify(status)}`);
  return part.data as Seen;
}
