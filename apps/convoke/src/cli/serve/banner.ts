import { relative, resolve } from "node:path";
import { isLoopback } from "../credentials/is-loopback.ts";

/** What a person sees when the server is up: where it is and what to try next. */
export function banner(facts: {
  readonly name: string;
  readonly url: string;
  readonly data: string;
  /** What became of tasks that an earlier run had left unfinished. */
  readonly recovered: Readonly<Record<"resumed" | "ended" | "waiting", number>>;
  readonly isDemo: boolean;
  readonly needsToken: boolean;
}): string {
  const { name, url, data, recovered, isDemo, needsToken } = facts;
  const base = url.replace(/\/$/, "");
  const folder = relative(process.cwd(), resolve(data)) || ".";
  const where = data === "memory" ? "memory, gone when this stops" : `${folder} (SQLite)`;
  // A token of the environment goes to this machine, and to the one that CONVOKE_URL names.
  const place = isLoopback(url) ? "" : `CONVOKE_URL=${base} `;
  const token = needsToken ? `CONVOKE_TOKEN=… ${place}` : "";
  const tries = isDemo
    ? ['stream URL "slow 20"', "send URL ask", "tasks URL"]
    : ['stream URL "Hello"', "tasks URL"];
  const earlier = Object.entries(recovered).filter(([, count]) => count > 0);
  const told = earlier.map(([fate, count]) => `${count} ${fate}`).join(", ");
  const left = told === "" ? "" : `  Earlier  unfinished tasks: ${told}\n`;
  return `${name} is ready.

  Card     ${base}/.well-known/agent-card.json
  Tasks    ${where}
${left}
Try in another terminal:

${tries.map((line) => `  ${token}npx convoke ${line.replace("URL", base)}`).join("\n")}

Ctrl+C stops it.
`;
}
