import {
  EXTENSIONS,
  type Message,
  type Metadata,
  type StatusUpdateEvent,
  dataOfType,
  textOfParts,
} from "@convoke/protocol";
import { listField, objectField, textField } from "../terminal/json-fields.ts";

export type ToolState = "pending" | "running" | "done" | "failed" | "canceled";

/** What an event says about one tool call. */
export interface ToolChange {
  readonly id: string;
  readonly name: string;
  readonly state: ToolState;
  /** The arguments. */
  readonly input?: unknown;
  /** The result or the error, when it has ended. */
  readonly output?: unknown;
}

/** A step of the agent's plan. */
export interface PlanEntry {
  readonly content: string;
  readonly status: string;
}

/** What the agent does, in addition to its answer. */
export type Activity =
  | { readonly kind: "tool"; readonly change: ToolChange }
  /** More of the answer; the pieces of one text have the same id. */
  | { readonly kind: "text"; readonly id: string; readonly text: string }
  | { readonly kind: "reasoning" | "note"; readonly text: string }
  | { readonly kind: "plan"; readonly entries: readonly PlanEntry[] };

/** An extension by which agents report what they do. */
interface Dialect {
  readonly uri: string;
  /** `undefined` if the event is an ordinary status. */
  read(event: StatusUpdateEvent, message: Message): readonly Activity[] | undefined;
}

const { uri: TOOL_ACTIVITY } = EXTENSIONS.toolActivity;

const toolActivity: Dialect = {
  uri: TOOL_ACTIVITY,
  read: (_, message) => {
    const calls = dataOfType(message, TOOL_ACTIVITY, "tool-use").map(({ data }) =>
      toolOf(data, "toolUseId", { state: "running", input: fieldIn(data, "input") }),
    );
    const results = dataOfType(message, TOOL_ACTIVITY, "tool-result").map(({ data }) => {
      const error = fieldIn(data, "error");
      const state = error === undefined ? "done" : "failed";
      return toolOf(data, "toolUseId", { state, output: error ?? fieldIn(data, "result") });
    });
    return calls.length + results.length === 0 ? undefined : [...calls, ...results];
  },
};

/** The extension of coding agents. */
const CODER = "https://convoke.dev/extensions/coder/v1";

const STATES: Readonly<Record<string, ToolState>> = {
  PENDING: "pending",
  EXECUTING: "running",
  SUCCEEDED: "done",
  FAILED: "failed",
  CANCELLED: "canceled",
};

const coder: Dialect = {
  uri: CODER,
  read: ({ metadata }, message) => {
    const kind = textField(objectField(metadata, CODER), "kind");
    const [data] = dataOfType(message, CODER, kind).map((part) => part.data);
    switch (kind) {
      case "":
      case "state":
        return undefined;
      case "text":
        return [{ kind, id: message.messageId, text: textOfParts(message.parts) }];
      case "tool-call":
      case "confirmation":
      case "decision": {
        const state = STATES[textField(data, "status")] ?? "running";
        const output = fieldIn(data, "error") ?? fieldIn(data, "result");
        return [toolOf(data, "callId", { state, input: fieldIn(data, "input"), output })];
      }
      case "thought": {
        const words = [textField(data, "subject"), textField(data, "description")];
        return [{ kind: "reasoning", text: words.filter((word) => word !== "").join(": ") }];
      }
      case "citation": {
        const words = [textField(data, "title"), textField(data, "url")];
        return [{ kind: "note", text: `Source: ${words.filter((word) => word !== "").join(" ")}` }];
      }
      case "plan":
        return [{ kind, entries: listField(data, "entries").map(planEntry) }];
      default:
        // Usage is read when the task ends; new kinds may be added.
        return [];
    }
  },
};

const DIALECTS: readonly Dialect[] = [coder, toolActivity];

/** The extensions to activate, so that agents report what they do. */
export const ACTIVITY_EXTENSIONS: readonly string[] = DIALECTS.map(({ uri }) => uri);

/** What a status update reports, in any of the dialects; `undefined` if it is an ordinary status. */
export function activitiesIn(event: StatusUpdateEvent): readonly Activity[] | undefined {
  const { message } = event.status;
  if (message === undefined) return undefined;
  for (const dialect of DIALECTS) {
    const found = dialect.read(event, message);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The call whose live output an artifact is. */
export function outputCallId(artifactId: string): string | undefined {
  return /^tool-(.+)-output$/.exec(artifactId)?.[1];
}

/** The model and the mode that an event or a task names. */
export function workFacts(metadata: Metadata | undefined): {
  readonly model?: string;
  readonly mode?: string;
} {
  const report = { ...objectField(metadata, "agent"), ...objectField(metadata, CODER) };
  const model = textField(report, "model");
  const mode = textField(report, "mode");
  return { ...(model !== "" && { model }), ...(mode !== "" && { mode }) };
}

/** Whether a message is reasoning of the model rather than progress. */
export function isThought(metadata: Metadata | undefined): boolean {
  return metadata?.["thought"] === true || metadata?.["adk_thought"] === true;
}

function toolOf(
  data: unknown,
  idField: string,
  change: Omit<ToolChange, "id" | "name">,
): Extract<Activity, { kind: "tool" }> {
  const id = textField(data, idField);
  return { kind: "tool", change: { id, name: textField(data, "name") || "tool", ...change } };
}

function planEntry(entry: unknown): PlanEntry {
  return { content: textField(entry, "content"), status: textField(entry, "status") };
}

function fieldIn(data: unknown, name: string): unknown {
  return (data as Readonly<Record<string, unknown>> | null | undefined)?.[name];
}
