import type { AgentTool } from "@convoke/protocol";
import type { A2AAgentSkill } from "@convoke/client/compat";

/** A tool as a skill of a card. */
export function toSkill({ name, description }: AgentTool): A2AAgentSkill {
  const words = wordsOf(name);
  return {
    id: name,
    name: words.map(capitalized).join(" "),
    description,
    tags: [categoryOf(words)],
    inputModes: ["application/json"],
    outputModes: ["application/json", "text/plain"],
  };
}

/** `files__readFile` has the words files, read and file. */
function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .split(/[^a-zA-Z0-9]+/)
    .filter((word) => word !== "")
    .map((word) => word.toLowerCase());
}

/** Words that are not written with one capital letter. */
const SPELLINGS: Readonly<Record<string, string>> = {
  a2a: "A2A",
  ai: "AI",
  api: "API",
  csv: "CSV",
  github: "GitHub",
  html: "HTML",
  http: "HTTP",
  id: "ID",
  json: "JSON",
  llm: "LLM",
  mcp: "MCP",
  pdf: "PDF",
  pr: "PR",
  prs: "PRs",
  sql: "SQL",
  ui: "UI",
  url: "URL",
  urls: "URLs",
};

function capitalized(word: string): string {
  return SPELLINGS[word] ?? `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}

/** The families of tools, and the words in their names. The first family with a word of the name is used. */
const CATEGORIES: Readonly<Record<string, readonly string[]>> = {
  agents: ["a2a", "agent", "agents", "council", "delegate"],
  code: ["branch", "code", "commit", "diff", "git", "github", "issue", "pr", "prs", "repo"],
  memory: ["memories", "memory", "note", "notes", "recall", "remember"],
  messaging: ["chat", "email", "mail", "message", "messages", "notify", "slack", "sms"],
  scheduling: ["calendar", "cron", "event", "reminder", "schedule", "task", "tasks"],
  search: ["find", "grep", "lookup", "query", "search"],
  web: ["browse", "browser", "fetch", "http", "page", "url", "web"],
  files: ["directory", "file", "files", "folder", "path"],
  data: ["csv", "database", "db", "record", "records", "sql", "table"],
  shell: ["bash", "command", "exec", "process", "shell", "terminal"],
};

function categoryOf(words: readonly string[]): string {
  const isOf = ([, family]: readonly [string, readonly string[]]): boolean =>
    words.some((word) => family.includes(word));
  return Object.entries(CATEGORIES).find(isOf)?.[0] ?? "general";
}
