import { type A2APart, type Task, textOfParts } from "@convoke/protocol";
import { fieldsOf, textField } from "./notes.ts";
import type { StoryItem } from "./story.ts";

/** The story of a task as Markdown. */
export function toMarkdown(task: Task, items: readonly StoryItem[]): string {
  const head = `# Task ${task.id}\n\nState: ${task.status.state}. Context: ${task.contextId}.`;
  const sections = items.map(section).filter((text) => text !== "");
  return `${[head, ...sections].join("\n\n")}\n`;
}

function section(item: StoryItem): string {
  switch (item.kind) {
    case "message":
      return `## ${item.message.role === "user" ? "User" : "Agent"}\n\n${partsText(item.message.parts)}`;
    case "said":
      return `## Agent\n\n${[item.texts.join(""), partsText(item.parts)].filter(Boolean).join("\n\n")}`;
    case "thought":
      return item.text.replaceAll(/^/gm, "> ");
    case "tool":
      return [
        `### Tool: ${item.name} (${item.outcome})`,
        item.input === undefined ? "" : fenced(item.input),
        item.decision === undefined ? "" : decisionText(item.decision),
        item.output === undefined ? "" : fenced(item.output),
      ]
        .filter(Boolean)
        .join("\n\n");
    case "question":
      return `### Question\n\n${item.text ?? item.requests.map((one) => textField(one, "prompt") ?? "").join("\n")}`;
    case "step":
      return `### Step: ${item.name}${item.problem === undefined ? "" : ` (failed: ${item.problem})`}`;
    case "progress":
    case "line":
      return `_${item.text}_`;
    case "attempt":
      return `**The process ended here. Attempt ${item.attempt} began.**`;
    case "end":
      return `## ${item.state}\n\n${item.message === undefined ? "" : partsText(item.message.parts)}`;
    case "gap":
      return `_Events ${item.seq} to ${item.to} are left out._`;
    default:
      return item satisfies never;
  }
}

function decisionText(decision: unknown): string {
  const fields = fieldsOf(decision);
  const by = textField(fields, "decidedBy");
  return `Decision: ${textField(fields, "outcome") ?? "unknown"}${by === undefined ? "" : ` by ${by}`}.`;
}

function partsText(parts: readonly A2APart[]): string {
  const text = textOfParts(parts);
  const others = parts.flatMap((part) => {
    if (part.kind === "data") return fenced(part.data);
    return part.kind === "file" ? `File: ${part.file.name ?? "without a name"}` : [];
  });
  return [text, ...others].filter(Boolean).join("\n\n");
}

/** A fence that is longer than any in the content. */
function fenced(value: unknown): string {
  const content = JSON.stringify(value, undefined, 2);
  const longest = Math.max(2, ...Array.from(content.matchAll(/`+/g), ([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}json\n${content}\n${fence}`;
}
