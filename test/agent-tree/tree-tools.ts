import { type Tool, type ToolContext, inputRequired, tool } from "@convoke/runtime";
import { aLoginTool } from "../approvals/a-login-tool.ts";
import type { Notes } from "./notes.ts";

const PATH = {
  type: "object",
  properties: { path: { type: "string" } },
  required: ["path"],
} as const;

/** The tools of the agents of a tree; every run is recorded. */
export function treeTools(notes: Notes): readonly Tool[] {
  const ran = (name: string, input: unknown, { taskId, toolCallId, key }: ToolContext): void =>
    notes.add({ what: "tool", name, input, taskId, toolCallId, key });
  return [
    tool({
      name: "delete",
      description: "Deletes a file, if somebody approves.",
      inputSchema: PATH,
      confirm: "ask",
      run: ({ path }, context) => {
        ran("delete", { path }, context);
        return `deleted ${String(path)}`;
      },
    }),
    tool({
      name: "read",
      description: "Reads a file; it may be read again.",
      inputSchema: PATH,
      idempotent: true,
      run: ({ path }, context) => {
        ran("read", { path }, context);
        return `read ${String(path)}`;
      },
    }),
    tool({
      name: "write",
      description: "Writes to a file; nobody wants that twice.",
      inputSchema: PATH,
      run: ({ path }, context) => {
        ran("write", { path }, context);
        return `wrote ${String(path)}`;
      },
    }),
    tool({
      name: "choose",
      description: "Asks for a colour.",
      run: (_, { answers }: ToolContext) =>
        answers.get("colour")?.text ??
        inputRequired("Which colour?", { requestId: "colour", options: ["red", "blue"] }),
    }),
    aLoginTool().login,
  ];
}
