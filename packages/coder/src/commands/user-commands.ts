import { readFile, readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Project } from "../project/project.ts";
import type { CoderCommand } from "./command.ts";

const NAME = /^[a-z][a-z0-9-]{0,63}$/;

/** The most that is read of one file, and the most files. */
const MAX_BYTES = 64 * 1024;
const MAX_FILES = 100;

/** The folder of the person who runs the server. */
function ownFolder({ XDG_CONFIG_HOME: config = "" } = process.env): string {
  const base = config.startsWith("/") ? config : join(homedir(), ".config");
  return join(base, "convoke", "commands");
}

/**
 * The commands that people wrote as files: in their own folder, and in `.convoke/commands` of a
 * workspace that the operator trusts. The file's name is that of the command.
 */
export async function userCommands(project: Project): Promise<readonly CoderCommand[]> {
  const ofProject = join(project.workspace.root, ".convoke", "commands");
  const folders = [ownFolder(), ...(project.isTrusted ? [ofProject] : [])];
  const found = new Map<string, CoderCommand>();
  for (const folder of folders) {
    const files = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const file of files.filter((one) => one.isFile()).slice(0, MAX_FILES)) {
      const name = file.name.replace(/\.md$/, "");
      if (!file.name.endsWith(".md") || !NAME.test(name)) continue;
      const text = await readFile(join(folder, file.name), "utf8").catch(() => "");
      if (text.length <= MAX_BYTES) found.set(name, parseUserCommand(name, text));
    }
  }
  return [...found.values()];
}

/**
 * A command from its file: front matter with `description` and `arguments`, and the message for the
 * model, in which `$1` to `$9` and `$ARGUMENTS` stand for what follows the name.
 */
function parseUserCommand(name: string, text: string): CoderCommand {
  const [, front = "", body = text] =
    /^---\r?\n([\s\S]*?)\r?\n---\r?\n?([\s\S]*)$/.exec(text) ?? [];
  const field = (key: string): string | undefined =>
    new RegExp(`^${key}:[ \\t]*(.*)$`, "m").exec(front)?.[1]?.trim();
  const names = (field("arguments") ?? "")
    .replaceAll(/[[\]"']/g, "")
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");
  const description = field("description")?.replace(/^["'](.*)["']$/, "$1") ?? "";
  return {
    name,
    description: description === "" ? `The command in ${name}.md` : description,
    arguments: names.map((one) => ({ name: one, description: one })),
    isTask: true,
    run: (args) => ({ kind: "prompt", text: filled(body.trim(), args) }),
  };
}

function filled(body: string, args: readonly string[]): string {
  return body.replaceAll(/\$(ARGUMENTS|[1-9])/g, (_, key: string) =>
    key === "ARGUMENTS" ? args.join(" ") : (args[Number(key) - 1] ?? ""),
  );
}
