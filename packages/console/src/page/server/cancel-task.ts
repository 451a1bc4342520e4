import { findAgent } from "./about.ts";
import { ServerProblem, ask } from "./session.ts";

interface RpcAnswer {
  readonly error?: { readonly message: string };
}

/** Asks the agent of a task to cancel it. Rejects if it cannot be canceled. */
export async function cancelTask(taskId: string, agentId: string | undefined): Promise<void> {
  const path = findAgent(agentId)?.path ?? "/";
  const body = { jsonrpc: "2.0", id: 1, method: "tasks/cancel", params: { id: taskId } };
  const { error } = await ask<RpcAnswer>(path, { method: "POST", body });
  if (error !== undefined) throw new ServerProblem(200, error.message);
}
