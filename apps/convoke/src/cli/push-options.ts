import { AGENT_OPTIONS } from "./agent-options.ts";
import type { CommandOption } from "./command.ts";

/** The options of every command about pushes; they are no A2A, so it has no version to choose. */
export const PUSH_OPTIONS = {
  json: AGENT_OPTIONS.json,
  token: AGENT_OPTIONS.token,
} as const satisfies Record<string, CommandOption>;
