import { join } from "node:path";
import { installProject } from "../../harness/install-project.ts";

/** A separate project, so that installing the workspace does not download it. */
const FOLDER = import.meta.dirname;

/**
 * The real Gemini CLI, in the version that is locked here. Its optional dependencies are native
 * modules for a terminal and a key ring; headless, it needs neither. Resolves to the program's file.
 */
export async function installGemini(): Promise<string> {
  await installProject(FOLDER);
  return join(FOLDER, "node_modules/@google/gemini-cli/bundle/gemini.js");
}
