import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The user's editor, from VISUAL or EDITOR; `undefined` if neither is set. */
export function editorCommand(
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  return env["VISUAL"] || env["EDITOR"] || undefined;
}

/**
 * Opens a text in the user's editor and returns what was saved; `undefined` if the editor failed.
 * The terminal must not be in use meanwhile. The file has the ending `extension`, so that the editor
 * knows its language, and is readable by this user only.
 */
export async function editExternally(
  command: string,
  text: string,
  extension: string,
): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "convoke-edit-"));
  try {
    const file = join(folder, `edit${extension}`);
    writeFileSync(file, text, { mode: 0o600 });
    // Through a shell, because EDITOR may have arguments: `code --wait`.
    const editor = spawn(`${command} "${file}"`, { shell: true, stdio: "inherit" });
    const code = await new Promise<number | null>((resolve) => {
      editor.once("error", () => resolve(1));
      editor.once("close", resolve);
    });
    return code === 0 ? readFileSync(file, "utf8") : undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
