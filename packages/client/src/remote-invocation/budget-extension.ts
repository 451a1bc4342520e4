import { type Budget, EXTENSIONS, type Message, userMessage } from "@convoke/protocol";
import type { Order } from "./invocation.ts";
import { MAX_DEPTH } from "./invocation-guard.ts";

const { uri: BUDGET } = EXTENSIONS.budget;

/**
 * The message of a call, with what is left of its budget. We count the calls
 * that led here; the extension, how many more the callee may make.
 */
export function messageOfOrder({ message, depth, options }: Order): Message {
  const { skill, sourceAgent, maxDepth = MAX_DEPTH } = options;
  const budget: Budget = {
    depth: maxDepth - depth,
    ...(sourceAgent !== undefined && { visited: [sourceAgent] }),
  };
  return {
    ...userMessage(crypto.randomUUID(), message),
    extensions: [BUDGET],
    metadata: { [BUDGET]: budget, ...(skill !== undefined && { skill }) },
  };
}
