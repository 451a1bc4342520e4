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
 * the parts, into `content`; some give it no id, and there is none to make up.
 */
export function todaysMessage(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { content, ...fields } = fieldsIn(value);
  return {
    ...fields,
    messageId: fields["messageId"] || UNNAMED,
    role: fields["role"] === "assistant" ? "agent" : fields["role"],
    parts: fields["parts"] ?? partsIn(content),
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
