import { invalidParams } from "../errors.ts";
import type { Metadata } from "../part.ts";

/** What metadata say under the URI of an extension; nothing where they say nothing. */
export function extensionData(metadata: Metadata | undefined, uri: string): unknown {
  return metadata !== undefined && Object.hasOwn(metadata, uri) ? metadata[uri] : undefined;
}

/** Where that is, as errors name it: `message.metadata["https://…"]`. */
export function dataField(carrier: string, uri: string): string {
  return `${carrier}[${JSON.stringify(uri)}]`;
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

/** Refuses a time that is not ISO 8601 in UTC: without a zone it would mean another instant elsewhere. */
export function checkTime(value: string | undefined, field: string): void {
  if (value === undefined || (ISO_TIME.test(value) && !Number.isNaN(Date.parse(value)))) return;
  throw invalidParams(field, "must be a time in UTC such as 2026-01-31T12:00:00Z");
}
