import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type CompletePolicy, parsePolicy, withWorkspacePolicy } from "./policy-definition.ts";

/** Where a workspace keeps its policy. */
const FILE = join(".convoke", "policy.json");

const MAX_BYTES = 256 * 1024;

/**
 * The server's policy for a workspace, with the workspace's own `.convoke/policy.json` as far as
 * the server admits it. Throws if the file is not valid: ignoring it would drop restrictions.
 */
export async function policyFor(server: CompletePolicy, root: string): Promise<CompletePolicy> {
  if (server.workspacePolicy === "ignore") return server;
  const path = join(root, FILE);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return server;
    throw new TypeError(`${path} cannot be read`, { cause: error });
  }
  if (text.length > MAX_BYTES) throw new TypeError(`${path} is larger than ${MAX_BYTES} bytes`);
  return withWorkspacePolicy(server, parsePolicy(parseJson(text, path), path));
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new TypeError(`${path} must be JSON`, { cause });
  }
}
