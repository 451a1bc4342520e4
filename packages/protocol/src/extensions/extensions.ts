import { invalidParams } from "../model/errors.ts";
import type { Message } from "../model/message.ts";
import type { Metadata } from "../model/part.ts";
import { compileCheck } from "../schema/compile-schema.ts";
import type { Schema } from "../schema/schema.ts";

/** One of our own extensions. */
interface ExtensionRow {
  /** A breaking change gets a new URI, so the meaning of this one never changes. */
  readonly uri: string;
  /** The number at the end of the URI. */
  readonly version: number;
  readonly description: string;
  /** The params on the cards of our servers. */
  readonly params?: Metadata;
}

/** Our own extensions of A2A; `docs/extensions` has a page for each. */
export const EXTENSIONS = {
  resumption: {
    uri: "https://convoke.dev/extensions/resumption/v1",
    version: 1,
    description: "An interrupted stream resumes exactly after the last event that was read.",
  },
  idempotency: {
    uri: "https://convoke.dev/extensions/idempotency/v1",
    version: 1,
    description: "A message that is sent again with its messageId is worked on once.",
    // A message may name the extension itself: gateways drop headers that they do not know.
    params: { inMessage: true },
  },
  skill: {
    uri: "https://convoke.dev/extensions/skill/v1",
    version: 1,
    description: "A message names the skill that it is for.",
  },
  clientTools: {
    uri: "https://convoke.dev/extensions/client-tools/v1",
    version: 1,
    description: "The agent uses tools that its caller declares and runs.",
  },
  approvals: {
    uri: "https://convoke.dev/extensions/approvals/v1",
    version: 1,
    description: "Tool calls wait for a decision that is bound to their arguments.",
  },
  budget: {
    uri: "https://convoke.dev/extensions/budget/v1",
    version: 1,
    description: "Limits of tokens, cost, time and depth travel to sub-agents, and usage back.",
  },
  toolActivity: {
    uri: "https://convoke.dev/extensions/tool-activity/v1",
    version: 1,
    description: "Streams show every tool call of the agent and its result.",
  },
  runReport: {
    uri: "https://convoke.dev/extensions/run-report/v1",
    version: 1,
    description: "Tasks say which model, MCP servers and tools the agent has for them.",
  },
  coder: {
    uri: "https://convoke.dev/extensions/coder/v1",
    version: 1,
    description: "Streams show the tool calls, diffs, thoughts, plan and usage of a coding agent.",
  },
} as const satisfies Record<string, ExtensionRow>;

/** The server defines the content, so only the form is checked: an unknown cursor is not an error. */
export const RESUMPTION_CURSOR: Schema = {
  type: "object",
  required: ["after"],
  properties: { after: { type: "string", minLength: 1, maxLength: 64 } },
};

export type ExtensionName = keyof typeof EXTENSIONS;

/** The data of an extension in metadata, or `undefined` if there is none. */
export function extensionData(metadata: Metadata | undefined, uri: string): unknown {
  return metadata !== undefined && Object.hasOwn(metadata, uri) ? metadata[uri] : undefined;
}

/** The path of that data, for errors: `message.metadata["https://…"]`. */
export function dataField(carrier: string, uri: string): string {
  return `${carrier}[${JSON.stringify(uri)}]`;
}

/** The data parts of a message that an extension marks with a type, and their paths for errors. */
export function dataOfType(
  { parts }: Message,
  uri: string,
  type: string,
): readonly { readonly data: unknown; readonly field: string }[] {
  return parts.flatMap((part, place) => {
    if (part.kind !== "data") return [];
    const mark = extensionData(part.metadata, uri) as { readonly type?: unknown } | null;
    return mark?.type === type ? [{ data: part.data, field: `message.parts[${place}].data` }] : [];
  });
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

/** Rejects a time that is not ISO 8601 in UTC: without a time zone it would be ambiguous. */
export function checkTime(value: string | undefined, field: string): void {
  if (value === undefined || (ISO_TIME.test(value) && !Number.isNaN(Date.parse(value)))) return;
  throw invalidParams(field, "must be a time in UTC such as 2026-01-31T12:00:00Z");
}

/** `metadata["<uri>"]` of a request that opens a stream. */
export interface ResumptionCursor {
  /** The `id:` of the last event that was read. */
  readonly after: string;
}

const checkCursor = compileCheck(RESUMPTION_CURSOR);

const CURSOR_FIELD = dataField("metadata", EXTENSIONS.resumption.uri);

/** The cursor in the metadata of a request, if any. Call it only if the extension is active. */
export function resumptionCursor(metadata: Metadata | undefined): string | undefined {
  const data = extensionData(metadata, EXTENSIONS.resumption.uri);
  if (data === undefined) return undefined;
  checkCursor(data, CURSOR_FIELD);
  return (data as ResumptionCursor).after;
}
