import {
  type JsonRpcRequest,
  answeredTaskId,
  fromLegacyRequest,
  isInterrupted,
} from "@convoke/protocol";
import type { Call } from "@convoke/engine";

/**
 * Converts a legacy request of A2A 0.3 to its official form. A tool result without a `taskId`
 * answers the task that it references if that task waits for the caller. Not called in strict mode.
 */
export async function acceptLegacyRequest(
  request: JsonRpcRequest,
  call: Pick<Call, "engine" | "caller">,
  accept: string | undefined,
): Promise<JsonRpcRequest> {
  const official = fromLegacyRequest(request, accept);
  const taskId = answeredTaskId(official);
  if (taskId === undefined) return official;
  const params = official.params as { readonly message: { readonly contextId?: unknown } };
  const { message } = params;
  const record = await call.engine.backend.tasks.get(taskId);
  const isWaiting =
    record?.owner === call.caller.owner &&
    isInterrupted(record.state) &&
    (message.contextId === undefined || message.contextId === record.contextId);
  return isWaiting
    ? { ...official, params: { ...params, message: { ...message, taskId } } }
    : official;
}
