import { EXTENSIONS, type JsonRpcRequest, isInterrupted } from "@convoke/protocol";
import type { Call } from "@convoke/engine";

/** Says of a data part what it stands for. */
const { uri: TOOL_EXTENSION } = EXTENSIONS.clientTools;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Forms that early documents of A2A 0.3 use, in the official ones: they are
 * accepted where they cannot be mistaken, and answered officially. Off in
 * strict mode.
 */
export async function fromSeedForms(
  request: JsonRpcRequest,
  call: Pick<Call, "engine" | "caller">,
  accept: string | undefined,
): Promise<JsonRpcRequest> {
  const params = asFields(request.params);
  if (params === undefined) return request;
  if (request.method === "tasks/get") return asSubscription(request, params, accept);
  const message = asFields(params["message"]);
  if (message === undefined || !SENDS.has(request.method)) return request;
  const official = await withTask(officialMessage(message), call);
  return { ...request, params: { ...params, message: official } };
}

const SENDS: ReadonlySet<string> = new Set(["message/send", "message/stream"]);

/** `tasks/get {taskId}` of a caller that reads events is a subscription. */
function asSubscription(
  request: JsonRpcRequest,
  { id, taskId, ...rest }: Fields,
  accept: string | undefined,
): JsonRpcRequest {
  const isMeant =
    id === undefined && taskId !== undefined && accept?.includes("text/event-stream") === true;
  return isMeant
    ? { ...request, method: "tasks/resubscribe", params: { ...rest, id: taskId } }
    : request;
}

/** Tool parts and input requests are data. */
function officialMessage(message: Fields): Fields {
  const { inputRequest, parts, ...rest } = message;
  if (!Array.isArray(parts)) return message;
  const official = (parts as readonly unknown[]).map(officialPart);
  const asked = inputRequest === undefined ? [] : [dataPart("input-request", inputRequest)];
  return { ...rest, parts: [...official, ...asked] };
}

function officialPart(part: unknown): unknown {
  const { kind, metadata, ...fields } = asFields(part) ?? {};
  if (kind !== "tool-result" && kind !== "tool-use") return part;
  return dataPart(kind, fields, asFields(metadata));
}

function dataPart(type: string, data: unknown, metadata: Fields = {}): Fields {
  return { kind: "data", data, metadata: { ...metadata, [TOOL_EXTENSION]: { type } } };
}

/** A tool's result that names one waiting task answers it. */
async function withTask(
  message: Fields,
  { engine, caller }: Pick<Call, "engine" | "caller">,
): Promise<Fields> {
  const { taskId, contextId, referenceTaskIds, parts } = message;
  if (taskId !== undefined || !Array.isArray(referenceTaskIds) || !hasAnswer(parts)) return message;
  const [only, ...others] = referenceTaskIds as readonly unknown[];
  if (typeof only !== "string" || others.length > 0) return message;
  const record = await engine.backend.tasks.get(only);
  const isWaiting =
    record?.owner === caller.owner &&
    isInterrupted(record.state) &&
    (contextId === undefined || contextId === record.contextId);
  return isWaiting ? { ...message, taskId: only } : message;
}

function hasAnswer(parts: unknown): boolean {
  return (
    Array.isArray(parts) &&
    parts.some((part) => asFields(asFields(part)?.["metadata"])?.[TOOL_EXTENSION] !== undefined)
  );
}

function asFields(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : undefined;
}
