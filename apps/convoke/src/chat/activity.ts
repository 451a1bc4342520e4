import { EXTENSIONS, type Message, type Metadata, dataOfType } from "@convoke/protocol";
import { textField } from "../terminal/json-fields.ts";

/** What a message says about one tool call. */
export interface ToolChange {
  readonly id: string;
  readonly name: string;
  readonly state: "running" | "done" | "failed";
  /** The arguments, when the call begins. */
  readonly input?: unknown;
  /** The result or the error, when it ends. */
  readonly output?: unknown;
}

/** An extension by which agents report their tool calls. */
interface ActivityDialect {
  readonly uri: string;
  read(message: Message): readonly ToolChange[];
}

const { uri } = EXTENSIONS.toolActivity;

const DIALECTS: readonly ActivityDialect[] = [
  {
    uri,
    read: (message) => [
      ...dataOfType(message, uri, "tool-use").map(({ data }) => ({
        ...callIn(data),
        state: "running" as const,
        input: fieldIn(data, "input"),
      })),
      ...dataOfType(message, uri, "tool-result").map(({ data }) => {
        const error = fieldIn(data, "error");
        const state = error === undefined ? ("done" as const) : ("failed" as const);
        return { ...callIn(data), state, output: error ?? fieldIn(data, "result") };
      }),
    ],
  },
];

/** The extensions to activate, so that agents report their tool calls. */
export const ACTIVITY_EXTENSIONS: readonly string[] = DIALECTS.map((dialect) => dialect.uri);

/** The tool calls that a message reports, in any of the dialects. */
export function toolChangesIn(message: Message): readonly ToolChange[] {
  return DIALECTS.flatMap((dialect) => dialect.read(message)).filter(({ id }) => id !== "");
}

/** Whether a message or a part is reasoning of the model rather than an answer. */
export function isThought(metadata: Metadata | undefined): boolean {
  return metadata?.["thought"] === true || metadata?.["adk_thought"] === true;
}

function callIn(data: unknown): Pick<ToolChange, "id" | "name"> {
  return { id: textField(data, "toolUseId"), name: textField(data, "name") || "tool" };
}

function fieldIn(data: unknown, name: string): unknown {
  return (data as Readonly<Record<string, unknown>> | null | undefined)?.[name];
}
