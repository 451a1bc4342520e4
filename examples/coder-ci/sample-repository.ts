import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PROJECT = fileURLToPath(new URL("../coder/project", import.meta.url));

/** A repository with one commit and a failing test, as a job has it after its checkout. */
export function sampleRepository(folder = mkdtempSync(join(tmpdir(), "cart-"))): string {
  cpSync(PROJECT, folder, { recursive: true });
  const git = (...args: readonly string[]): Buffer => execFileSync("git", args, { cwd: folder });
  git("init", "--quiet");
  git("add", ".");
  const author = ["-c", "user.name=Sample", "-c", "user.email=sample@example.org"];
  git(...author, "commit", "--quiet", "--message", "Add a cart");
  return folder;
}
