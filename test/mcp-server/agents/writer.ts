import { type ModelRequest, authRequired, defineAgent, inputRequired, tool } from "convoke";
import { scriptedModel } from "@convoke/runtime/testing";
import { appendFileSync } from "node:fs";

// An agent with a model that calls the requested tool, and then repeats its result.

const write = tool({
  name: "write",
  description: "Writes a note.",
  confirm: "ask",
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
  run: ({ text }: { readonly text?: unknown }) => {
    appendFileSync(process.env["NOTES"] ?? "/dev/null", `${String(text)}\n`);
    return "written";
  },
});

const unlock = tool({
  name: "unlock",
  description: "Needs a password.",
  run: (_input, { answers }) => {
    const answer = answers.get("password");
    return answer === undefined
      ? inputRequired("What is the password?", { requestId: "password", sensitive: true })
      : `unlocked by ${answer.text.length} characters`;
  },
});

const enter = tool({
  name: "enter",
  description: "Needs somebody to sign in.",
  run: (_input, { answers }) =>
    answers.has("auth")
      ? `entered after ${answers.get("auth")?.text}`
      : authRequired("Please sign in.", { url: "https://login.example/writer" }),
});

function answer({ transcript }: ModelRequest) {
  const last = transcript.at(-1);
  if (last?.role === "tool")
    return `Done: ${JSON.stringify(last.results.map(({ output }) => output))}`;
  const parts = last?.role === "user" ? last.parts : [];
  const text = parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
  const [toolName = "", ...words] = text.split(" ");
  return [
    toolName === "twice" ? "write" : toolName,
    ...(toolName === "twice" ? ["write"] : []),
  ].map((name, place) => ({
    kind: "tool-call" as const,
    toolName: name,
    input: { text: place === 0 ? words.join(" ") : "again" },
  }));
}

// oxlint-disable-next-line import/no-default-export
export default defineAgent({
  name: "The Writer",
  description: "Writes notes.",
  model: scriptedModel(Array.from({ length: 50 }, () => answer)),
  tools: [write, unlock, enter],
});
