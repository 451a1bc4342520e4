import { EXTENSIONS } from "../../extensions/extensions.ts";

/** A JSON object of which nothing else is known yet. */
type Fields = Readonly<Record<string, unknown>>;

/**
 * What kind of object a server sent. 0.3 has it say so, and early servers leave
 * it out (protocol §4); then its fields tell, each kind by one that no other has.
 */
export function kindOf(value: unknown): unknown {
  const fields = fieldsIn(value);
  if (fields["kind"] !== undefined) return fields["kind"];
  if (fields["artifact"] !== undefined || fields["part"] !== undefined) return "artifact-update";
  if (fields["role"] !== undefined) return "message";
  if (fields["status"] === undefined) return undefined;
  if (fields["taskId"] !== undefined) return "status-update";
  return fields["id"] === undefined ? undefined : "task";
}

/**
 * A message in today's form. Early servers say `assistant` and put the text, or
 * the parts, into `content`; some give it no id, and there is none to make up. What they ask a
 * program for is in kinds of parts that 0.3 does not have, or in `inputRequest`.
 */
export function todaysMessage(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { content, inputRequest, ...fields } = fieldsIn(value);
  const parts = fields["parts"] ?? partsIn(content);
  return {
    ...fields,
    messageId: fields["messageId"] || UNNAMED,
    role: fields["role"] === "assistant" ? "agent" : fields["role"],
    parts: Array.isArray(parts) ? withRequest(parts.map(todaysPart), inputRequest) : parts,
  };
}

/** A part in today's form: calls of tools and their results are data. */
function todaysPart(part: unknown): unknown {
  const { kind, metadata, ...data } = fieldsIn(part);
  if (kind !== "tool-use" && kind !== "tool-result") return part;
  return markedPart(kind, data, fieldsIn(metadata));
}

/** What is asked for as a data part, unless one says it already. */
function withRequest(parts: readonly unknown[], inputRequest: unknown): readonly unknown[] {
  if (inputRequest === undefined) return parts;
  const { requestId = "" } = fieldsIn(inputRequest);
  const isThere = parts.some((part) => {
    const data = fieldsIn(fieldsIn(part)["data"]);
    return data["requestId"] === requestId || data["toolUseId"] === requestId;
  });
  return isThere ? parts : [...parts, markedPart("input-request", inputRequest)];
}

function markedPart(type: string, data: unknown, metadata: Fields = {}): Fields {
  return {
    kind: "data",
    data,
    metadata: { ...metadata, [EXTENSIONS.clientTools.uri]: { type } },
  };
}

const UNNAMED = "unnamed";

/** An artifact update in today's form. Early servers number their artifacts and send part by part. */
export function todaysArtifactUpdate(value: unknown): unknown {
  const { artifact, part: sent } = fieldsIn(value);
  if (artifact !== undefined || sent === undefined) return value;
  const { index = 0, part, timestamp: _, ...fields } = fieldsIn(value);
  const artifactId = `artifact-${String(index)}`;
  return { append: true, ...fields, artifact: { artifactId, parts: [part] } };
}

function partsIn(content: unknown): readonly unknown[] {
  if (typeof content === "string") return [{ kind: "text", text: content }];
  return Array.isArray(content) ? content : [];
}

function fieldsIn(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
