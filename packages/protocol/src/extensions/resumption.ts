import type { Metadata } from "../part.ts";
import { checkOf } from "../wire/check.ts";
import type { Schema } from "../wire/schema/schema.ts";
import { dataField, extensionData } from "./extension-data.ts";
import { EXTENSIONS } from "./extensions.ts";

/** `metadata["<uri>"]` of a request that opens a stream. */
export interface ResumptionCursor {
  /** The `id:` of the last event that was read. */
  readonly after: string;
}

const FIELD = dataField("metadata", EXTENSIONS.resumption.uri);

/** Its words are the server's own, so only their form is checked: an unknown cursor is no error. */
export const RESUMPTION_CURSOR: Schema = {
  type: "object",
  required: ["after"],
  properties: { after: { type: "string", minLength: 1, maxLength: 64 } },
};

const check = checkOf(RESUMPTION_CURSOR);

/** The cursor in the metadata of a request, if there is one. Only where the extension is active. */
export function resumptionCursor(metadata: Metadata | undefined): string | undefined {
  const data = extensionData(metadata, EXTENSIONS.resumption.uri);
  if (data === undefined) return undefined;
  check(data, FIELD);
  return (data as ResumptionCursor).after;
}
