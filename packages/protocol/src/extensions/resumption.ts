import type { Metadata } from "../model/part.ts";
import { compileCheck } from "../schema/compile-schema.ts";
import type { Schema } from "../schema/schema.ts";
import { EXTENSIONS, dataField, extensionData } from "./extensions.ts";

/** `metadata["<uri>"]` of a request that opens a stream. */
export interface ResumptionCursor {
  /** The `id:` of the last event that was read. */
  readonly after: string;
}

const FIELD = dataField("metadata", EXTENSIONS.resumption.uri);

/** The server defines the content, so only the form is checked: an unknown cursor is not an error. */
export const RESUMPTION_CURSOR: Schema = {
  type: "object",
  required: ["after"],
  properties: { after: { type: "string", minLength: 1, maxLength: 64 } },
};

const check = compileCheck(RESUMPTION_CURSOR);

/** The cursor in the metadata of a request, if any. Call it only if the extension is active. */
export function resumptionCursor(metadata: Metadata | undefined): string | undefined {
  const data = extensionData(metadata, EXTENSIONS.resumption.uri);
  if (data === undefined) return undefined;
  check(data, FIELD);
  return (data as ResumptionCursor).after;
}
