import { EXTENSIONS } from "../../extensions/extensions.ts";
import { type JsonObject, isObject } from "../../internal/json.ts";

/** The fields of a JSON object; none for any other value. */
export function fieldsOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Converts a legacy part: tool calls and tool results are data parts in A2A 0.3. */
export function fromLegacyPart(part: unknown): unknown {
  const { kind, metadata, ...data } = fieldsOf(part);
  if (kind !== "tool-use" && kind !== "tool-result") return part;
  return toolPart(kind, data, fieldsOf(metadata));
}

/** A data part that the extension `client-tools` marks with its type. */
export function toolPart(type: string, data: unknown, metadata: JsonObject = {}): JsonObject {
  return { kind: "data", data, metadata: { ...metadata, [EXTENSIONS.clientTools.uri]: { type } } };
}
