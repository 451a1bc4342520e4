import {
  CODE_GENERATION,
  DETAILS_NOTE,
  type DialectOptions,
  commandPreview,
  editPreview,
  requestedSettings,
  withDialects,
} from "@convoke/coder";
import { A2AError, type Agent } from "@convoke/protocol";
import { type Model, type Tool, defineAgent, inputRequired, tool } from "@convoke/runtime";

/** What the tools of the agent have done. */
export class Workspace {
  readonly files = new Map<string, string>([["/project/a.ts", "one\n"]]);
  readonly commands: string[] = [];
  /** Resolves when a slow command runs. */
  readonly running = Promise.withResolvers<void>();
}

const text = { type: "string" } as const;

function schema(...names: string[]) {
  const properties = Object.fromEntries(names.map((name) => [name, text]));
  return { type: "object", properties, required: names } as const;
}

/** The tools of a small coding agent. */
function codingTools(workspace: Workspace, { mayAutoExecute = false } = {}) {
  const isAutomatic = (turn: Parameters<typeof requestedSettings>[0]): boolean =>
    mayAutoExecute && requestedSettings(turn)?.autoExecute === true;
  return [
    tool({
      name: "write_file",
      description: "Writes a file.",
      inputSchema: schema("path", "content"),
      confirm: ({ input, turn }) => {
        if (isAutomatic(turn)) return "allow";
        const { path, content } = input as { path: string; content: string };
        const oldContent = workspace.files.get(path);
        const edit = {
          filePath: path,
          ...(oldContent !== undefined && { oldContent }),
          newContent: content,
          diff: `--- ${path}\n+++ ${path}\n@@ -1 +1 @@\n-${oldContent ?? ""}+${content}`,
          contentArgument: "content",
        };
        return { title: `Write ${path}`, prompt: "May I?", preview: [editPreview(edit)] };
      },
      run: function* (input) {
        const { path, content: newContent } = input as { path: string; content: string };
        const oldContent = workspace.files.get(path);
        workspace.files.set(path, newContent);
        const data = { type: "edit", filePath: path, oldContent, newContent };
        // Unless the call was approved, nothing else shows the change.
        if (mayAutoExecute) yield { kind: "tool:note", name: DETAILS_NOTE, data };
        return `Wrote ${path}`;
      },
    }),
    tool({
      name: "run_command",
      description: "Runs a command.",
      inputSchema: schema("command"),
      confirm: ({ input, turn }) => {
        if (isAutomatic(turn)) return "allow";
        const { command } = input as { command: string };
        const preview = [commandPreview({ command, commands: [command], cwd: "/project" })];
        return { title: command, risk: "danger", preview };
      },
      run: async function* (input, { signal }) {
        const { command } = input as { command: string };
        workspace.commands.push(command);
        if (command === "sleep") {
          workspace.running.resolve();
          await new Promise((_, reject) => {
            signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true });
          });
        }
        yield "tick 1\n";
        yield "tick 2\n";
      },
    }),
    tool({
      name: "ask_user",
      description: "Asks the user.",
      inputSchema: schema("question"),
      run: (input, { answers }) => {
        const { question } = input as { question: string };
        const answer = answers.get("q");
        return answer === undefined
          ? inputRequired(question, { requestId: "q" })
          : { answer: answer.text };
      },
    }),
    tool({
      name: "fail",
      description: "Fails.",
      run: () => {
        throw new A2AError("InvalidParams", "no such file");
      },
    }),
  ];
}

/** A coding agent with a scripted model. */
export function codingAgent(
  model: Model,
  {
    workspace = new Workspace(),
    mayAutoExecute = false,
    tools = [],
    ...options
  }: DialectOptions & {
    readonly workspace?: Workspace;
    readonly mayAutoExecute?: boolean;
    /** In addition to its own. */
    readonly tools?: readonly Tool[];
  } = {},
): Agent {
  const agent = defineAgent({
    name: "Coder",
    description: "Generates code based on instructions",
    inputModes: ["text/plain", "application/json", "image/*"],
    skills: [CODE_GENERATION],
    model,
    tools: [...codingTools(workspace, { mayAutoExecute }), ...tools],
    approvals: { acceptPlainText: true },
    retry: { firstWaitMs: 1 },
  });
  return withDialects(agent, options);
}
