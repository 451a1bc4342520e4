import { isAbsolute, join } from "node:path";
import type { CommandIo } from "../command.ts";

/** Where tokens are kept, by the XDG base directories; nowhere for somebody without a home. */
export function credentialsPath(env: CommandIo["env"]): string | undefined {
  const { XDG_CONFIG_HOME: config = "", HOME: home = env["USERPROFILE"] ?? "" } = env;
  // The specification has relative paths ignored: they would mean another file in every folder.
  if (isAbsolute(config)) return join(config, "convoke", "credentials.json");
  return isAbsolute(home) ? join(home, ".config", "convoke", "credentials.json") : undefined;
}
