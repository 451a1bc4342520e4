import { type JsonObject, oneLine, printable, printableJson } from "@convoke/protocol/internal";
import { textField } from "../terminal/json-fields.ts";
import { describeItem } from "./describe-item.ts";
import type { LogItem } from "./task-source.ts";

/** How tasks are written, piece by piece, so that no task is in memory as a whole. */
export interface ExportFormat {
  /** Whether the chunks of an artifact are joined. */
  readonly joinsChunks: boolean;
  /** Before the first and after the last of several tasks. */
  readonly around: readonly [before: string, between: string, after: string];
  task(about: JsonObject): string;
  event(item: LogItem, about: JsonObject, isFirst: boolean): string;
  readonly end: string;
}

/** One object per line: a task, then its events with the id of the task. */
const JSONL: ExportFormat = {
  joinsChunks: false,
  around: ["", "", ""],
  task: (about) => `${printableJson({ task: about })}\n`,
  event: (item, about) => `${printableJson({ taskId: about["id"], ...item })}\n`,
  end: "",
};

/** An object with the task and its events; an array of them for several tasks. */
const JSON_TEXT: ExportFormat = {
  joinsChunks: false,
  around: ["[\n", ",\n", "]\n"],
  task: (about) => `{"task":${printableJson(about)},"events":[`,
  event: (item, _, isFirst) => `${isFirst ? "" : ","}\n${printableJson(item)}`,
  end: "]}\n",
};

/** Markdown for people: what was said, and each note as a line. */
const MARKDOWN: ExportFormat = {
  joinsChunks: true,
  around: ["", "\n", ""],
  task: (about) => {
    const fact = (name: string): string => oneLine(textField(about, name));
    const owner = fact("owner") === "" ? "" : `, owner ${fact("owner")}`;
    const what = `${fact("state")}, agent ${fact("agent")}, context ${fact("contextId")}${owner}`;
    return `# Task ${fact("id")}\n\n${what}\n\n`;
  },
  event: (item) => {
    const { kind, text, isNote } = describeItem(item);
    const place = `${String(item["seq"])}${at(item)}`;
    if (isNote && kind !== "message") return `- ${place} \`${kind}\` ${oneLine(text)}\n`;
    const quoted = printable(text).replaceAll(/^/gm, "  > ");
    return `- ${place} **${kind}**\n\n${quoted}\n\n`;
  },
  end: "",
};

function at(item: LogItem): string {
  const time = textField(item, "at");
  return time === "" ? "" : ` ${time}`;
}

export const EXPORT_FORMATS: Readonly<Record<string, ExportFormat>> = {
  jsonl: JSONL,
  json: JSON_TEXT,
  md: MARKDOWN,
};
