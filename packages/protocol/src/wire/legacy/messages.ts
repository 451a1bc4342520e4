import type { TaskState } from "../../model/task.ts";
import { approvalsIn } from "../../extensions/approvals.ts";
import { EXTENSIONS } from "../../extensions/extensions.ts";
import { type JsonObject, isObject } from "../../internal/json.ts";

// Legacy forms that servers send: what a client still accepts.

/**
 * The kind of an object that a server sent. 0.3 requires `kind`, but legacy servers omit it; then a
 * field that only one kind has decides.
 */
export function findKind(value: unknown): unknown {
  const fields = fieldsOf(value);
  if (fields["kind"] !== undefined) return fields["kind"];
  if (fields["artifact"] !== undefined || fields["part"] !== undefined) return "artifact-update";
  if (fields["role"] !== undefined) return "message";
  if (fields["status"] === undefined) return undefined;
  if (fields["taskId"] !== undefined) return "status-update";
  return fields["id"] === undefined ? undefined : "task";
}

/**
 * Converts a legacy message. Legacy servers use the role `assistant` and put the text or the parts
 * into `content`; some send no id or no role, or echo the message that they got in ProtoJSON. Tool
 * calls and questions are parts of a kind that 0.3 does not have, or are in `inputRequest`.
 */
export function fromLegacyMessage(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { content, inputRequest, ...fields } = value as Readonly<Record<string, unknown>>;
  const parts = fields["parts"] ?? contentParts(content);
  const isKnown = hasApproval(fields, inputRequest);
  return {
    ...fields,
    messageId: fields["messageId"] || fields["message_id"] || UNNAMED,
    role: ROLES.get(fields["role"]) ?? fields["role"],
    parts: Array.isArray(parts)
      ? withRequest(parts.map(toPart), isKnown ? undefined : inputRequest)
      : parts,
  };
}

/** The id of a message that a server sent without one. Nothing depends on it. */
export const UNNAMED = "unnamed";

const ROLES: ReadonlyMap<unknown, string> = new Map([
  [undefined, "agent"],
  ["assistant", "agent"],
  ["ROLE_AGENT", "agent"],
  ["ROLE_USER", "user"],
]);

/** A part of a legacy kind, or one of ProtoJSON, which has no kind. */
function toPart(part: unknown): unknown {
  const { kind, text, file, data, metadata } = fieldsOf(part);
  if (kind !== undefined) return fromLegacyPart(part);
  const rest = metadata !== undefined && { metadata };
  if (text !== undefined) return { kind: "text", text, ...rest };
  if (file !== undefined) {
    const { fileWithUri: uri, fileWithBytes: bytes, ...facts } = fieldsOf(file);
    return { kind: "file", file: { uri, bytes, ...facts }, ...rest };
  }
  return data === undefined ? part : { kind: "data", data: fieldsOf(data)["data"], ...rest };
}

function contentParts(content: unknown): readonly unknown[] {
  if (typeof content === "string") return [{ kind: "text", text: content }];
  return Array.isArray(content) ? content : [];
}

/** Whether the request is an approval, which the message has in its official form. */
function hasApproval({ parts, metadata }: JsonObject, inputRequest: unknown): boolean {
  const { requestId } = fieldsOf(inputRequest);
  if (requestId === undefined || !Array.isArray(parts)) return false;
  const { inParts, inMetadata } = approvalsIn({ parts, metadata: fieldsOf(metadata) });
  return [...inParts, ...inMetadata].some(({ id }) => id === requestId);
}

/** Adds the request as a data part, unless one of the parts already has it. */
function withRequest(parts: readonly unknown[], inputRequest: unknown): readonly unknown[] {
  if (inputRequest === undefined) return parts;
  const { requestId = "" } = fieldsOf(inputRequest);
  const isIncluded = parts.some((part) => {
    const data = fieldsOf(fieldsOf(part)["data"]);
    return data["requestId"] === requestId || data["toolUseId"] === requestId;
  });
  return isIncluded ? parts : [...parts, toolPart("input-request", inputRequest)];
}

/** Converts a legacy artifact update. Legacy servers number their artifacts and send them part by part. */
export function fromLegacyArtifactUpdate(value: unknown): unknown {
  const { artifact, part: sent } = fieldsOf(value);
  if (artifact !== undefined || sent === undefined) return value;
  const { index = 0, part, timestamp: _, ...fields } = fieldsOf(value);
  const artifactId = `artifact-${String(index)}`;
  return { append: true, ...fields, artifact: { artifactId, parts: [part] } };
}

/** Legacy names of official states. */
const STATES: ReadonlyMap<unknown, TaskState> = new Map([
  ["started", "submitted"],
  ["cancelled", "canceled"],
]);

/** The official state for a legacy name; `undefined` for any other value. */
export function fromLegacyState(value: unknown): TaskState | undefined {
  return STATES.get(value);
}

/** The fields of a JSON object; none for any other value. */
export function fieldsOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Converts a legacy part: tool calls and tool results are data parts in A2A 0.3. */
export function fromLegacyPart(part: unknown): unknown {
  const { kind, metadata, ...data } = fieldsOf(part);
  if (kind !== "tool-use" && kind !== "tool-result") return part;
  // A report of a tool that the agent runs itself asks nothing of its reader.
  const isReport = fieldsOf(metadata)[EXTENSIONS.toolActivity.uri] !== undefined;
  return isReport ? { kind: "data", data, metadata } : toolPart(kind, data, fieldsOf(metadata));
}

/** A data part that the extension `client-tools` marks with its type. */
export function toolPart(type: string, data: unknown, metadata: JsonObject = {}): JsonObject {
  return { kind: "data", data, metadata: { ...metadata, [EXTENSIONS.clientTools.uri]: { type } } };
}
