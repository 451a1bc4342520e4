import type { Message, Task } from "@convoke/protocol";
import type { Engine } from "./engine.ts";

/** The message as the agent lets it be stored; what it refuses is thrown. */
export function storable(
  { agent }: Engine,
  facts: { readonly task: Task; readonly message: Message; readonly at: string },
): Message {
  const { task, message, at } = facts;
  return agent.accept?.(task, message, new Date(at)) ?? message;
}
