import type { CommandIo } from "../command.ts";
import { UsageError } from "../usage-error.ts";
import { CredentialsFile } from "./credentials-file.ts";
import { credentialsPath } from "./credentials-path.ts";

/** The file for somebody who wants to change it, so there must be a place for it. */
export function openCredentials(env: CommandIo["env"]): CredentialsFile {
  const path = credentialsPath(env);
  if (path !== undefined) return new CredentialsFile(path);
  throw new UsageError(
    "There is no place for credentials: set HOME, or XDG_CONFIG_HOME to a folder.",
  );
}
