import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Agent } from "@convoke/protocol";
import { StartError } from "./settings.ts";
import { demoAgent } from "./demo-agent.ts";

/** The default export of a file, or the demo agent. */
export async function loadAgent(file: string | undefined): Promise<Agent> {
  if (file === undefined) return demoAgent;
  const path = resolve(file);
  const isFile = existsSync(path) && statSync(path).isFile();
  if (!isFile) throw new StartError(`There is no file ${file}.`);
  const agent = await defaultExport(path).catch((error: unknown) => {
    throw new StartError(`${file} could not be loaded. ${adviceFor(error)}`, { cause: error });
  });
  if (isAgent(agent)) return agent;
  throw new StartError(
    `${file} must export an agent: export default defineAgent({ name, description, run })`,
  );
}

async function defaultExport(path: string): Promise<unknown> {
  return ((await import(pathToFileURL(path).href)) as { default?: unknown }).default;
}

/** The stack trace of the error, or the fix for the most common mistake. */
function adviceFor(error: unknown): string {
  const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const isCommonJs =
    error instanceof SyntaxError && /outside a module|Unexpected token 'export'/.test(told);
  const advice =
    'Its package.json has "type": "commonjs": rename the file to .mts, or set "type": "module".';
  return isCommonJs ? advice : `The error is: ${told}`;
}

function isAgent(value: unknown): value is Agent {
  const agent = value as Partial<Agent> | undefined;
  return typeof agent?.run === "function" && typeof agent.info?.name === "string";
}
