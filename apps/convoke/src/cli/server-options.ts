import { AGENT_OPTIONS, AUTH_OPTIONS } from "./agent-options.ts";
import type { CommandOption } from "./command.ts";

/** The options of commands about what only our servers have: that is no A2A, so there is no version to choose. */
export const SERVER_OPTIONS = {
  json: AGENT_OPTIONS.json,
  ...AUTH_OPTIONS,
} as const satisfies Record<string, CommandOption>;
