import { type Message, textOfParts } from "@convoke/protocol";
import type { Model, ModelEvent, ModelRequest } from "@convoke/runtime";

/** What the model does: words, or a call of a tool. */
type DemoAnswer = string | { readonly toolName: string; readonly input: object };

const LABEL = "Demo model, no AI.";

const HELP = `${LABEL} I work with simple words:

- \`list\` or \`list src\`
- \`read README.md\`
- \`search foo\`
- \`write a.txt: hello\`
- \`edit a.txt: hello -> bye\`
- \`delete a.txt\`
- \`run npm test\`
- \`ask What is your name?\`

Set a model to work with AI, such as \`anthropic:claude-sonnet-4-5\`.`;

/** Each pattern, and the call that it means. */
const WORDS: readonly (readonly [
  RegExp,
  (...found: readonly string[]) => Exclude<DemoAnswer, string>,
])[] = [
  [/^list(?:\s+(\S+))?$/i, (path = ".") => ({ toolName: "list_directory", input: { path } })],
  [/^read\s+(\S+)$/i, (path) => ({ toolName: "read_file", input: { path } })],
  [
    /^search\s+(.+)$/i,
    (pattern) => ({ toolName: "search_files", input: { pattern, literal: true } }),
  ],
  [
    /^write\s+([^\s:]+):\s?([\s\S]*)$/i,
    (path, content = "") => ({
      toolName: "write_file",
      input: { path, content: content.endsWith("\n") ? content : `${content}\n` },
    }),
  ],
  [
    /^edit\s+([^\s:]+):\s?([\s\S]+?)\s*->\s*([\s\S]*)$/i,
    (path, oldText, newText) => ({
      toolName: "edit_file",
      input: { path, edits: [{ oldText, newText }] },
    }),
  ],
  [/^delete\s+(\S+)$/i, (path) => ({ toolName: "delete_file", input: { path } })],
  [/^run\s+([\s\S]+)$/i, (command) => ({ toolName: "run_shell", input: { command } })],
  [/^ask\s+([\s\S]+)$/i, (question) => ({ toolName: "ask_user", input: { question } })],
];

/**
 * A model that needs neither a key nor any AI, to try out the coding agent. The same request always
 * gets the same answer.
 */
export function codingDemoModel(): Model {
  return { id: "demo", stream: (request) => stream(request) };
}

async function* stream(request: ModelRequest): AsyncGenerator<ModelEvent> {
  const answer = answerTo(request);
  const words = typeof answer === "string" ? answer.split(/(?<=\s)/) : [];
  for (const text of words) yield { kind: "text", text };
  if (typeof answer !== "string") {
    const { toolName, input } = answer;
    const toolCallId = `demo-${request.transcript.length}`;
    yield { kind: "tool-call", toolCallId, toolName, input: JSON.stringify(input) };
  }
  const reason = typeof answer === "string" ? "stop" : "tool-calls";
  const usage = { inputTokens: request.transcript.length, outputTokens: words.length };
  yield { kind: "finish", reason, usage };
}

const MAX_RESULT = 2000;

function answerTo({ transcript, tools }: ModelRequest): DemoAnswer {
  const last = transcript.at(-1);
  if (last?.role === "tool") {
    const results = last.results.map(({ toolName, output, isError }) => {
      const text = typeof output === "string" ? output : JSON.stringify(output, undefined, 2);
      const fence = `\`\`\`\n${text.slice(0, MAX_RESULT)}\n\`\`\``;
      return `${LABEL} \`${toolName}\` ${isError ? "failed" : "returned"}:\n\n${fence}`;
    });
    return results.join("\n\n");
  }
  // A request without tools wants a summary.
  if (tools.length === 0) return `${LABEL} The conversation had ${transcript.length} entries.`;
  const text = last?.role === "user" ? lastLine(last.parts) : "";
  for (const [pattern, call] of WORDS) {
    const found = pattern.exec(text);
    if (found !== null) return call(...found.slice(1));
  }
  return HELP;
}

/** The newest message: earlier ones of the user, and quoted files, may be in the same entry. */
function lastLine(parts: Message["parts"]): string {
  const texts = parts.filter(({ kind }) => kind === "text");
  return textOfParts(texts.slice(-1)).trim();
}
