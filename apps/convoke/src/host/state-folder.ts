import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Where a command keeps the tasks of one subject, such as a workspace, in the home of the user. */
export function stateFolder(
  command: "code" | "console",
  subject: string,
  env: Readonly<Record<string, string | undefined>>,
): string {
  const { XDG_STATE_HOME: state = "", HOME: home = homedir() } = env;
  const base = isAbsolute(state) ? state : join(home, ".local", "state");
  const name = createHash("sha256").update(subject).digest("hex").slice(0, 16);
  return join(base, "convoke", command, name);
}
