import { type Message, userMessage } from "@convoke/protocol";
import type { Order } from "./invocation.ts";

/** Tells an agent what its caller has used up already, in the metadata of the message. */
const BUDGET_EXTENSION = "https://convoke.dev/extensions/budget/v1";

/** The message of a call, with its depth, and what else the polling protocol has fields for. */
export function messageOfOrder({ message, depth, options }: Order): Message {
  const { skill, sourceAgent } = options;
  return {
    ...userMessage(crypto.randomUUID(), message),
    extensions: [BUDGET_EXTENSION],
    metadata: {
      [BUDGET_EXTENSION]: { depth, ...(sourceAgent !== undefined && { sourceAgent }) },
      ...(skill !== undefined && { skill }),
    },
  };
}
