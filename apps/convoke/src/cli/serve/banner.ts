import { relative, resolve } from "node:path";

/** What a person sees when the server is up: where it is and what to try next. */
export function banner(facts: {
  readonly name: string;
  readonly url: string;
  readonly data: string;
  readonly recovered: number;
  readonly isDemo: boolean;
  readonly needsToken: boolean;
}): string {
  const { name, url, data, recovered, isDemo, needsToken } = facts;
  const base = url.replace(/\/$/, "");
  const folder = relative(process.cwd(), resolve(data)) || ".";
  const where = data === "memory" ? "memory, gone when this stops" : `${folder} (SQLite)`;
  const token = needsToken ? "CONVOKE_TOKEN=… " : "";
  const tries = isDemo
    ? ['stream URL "slow 20"', "send URL ask", "tasks URL"]
    : ['stream URL "Hello"', "tasks URL"];
  const ended =
    recovered === 0
      ? ""
      : `  Ended    ${recovered} unfinished task(s) of an earlier run, as interrupted\n`;
  return `${name} is ready.

  Card     ${base}/.well-known/agent-card.json
  Tasks    ${where}
${ended}
Try in another terminal:

${tries.map((line) => `  ${token}npx convoke ${line.replace("URL", base)}`).join("\n")}

Ctrl+C stops it.
`;
}
