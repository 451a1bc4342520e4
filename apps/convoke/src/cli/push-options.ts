import { AGENT_OPTIONS, AUTH_OPTIONS } from "./agent-options.ts";
import type { CommandOption } from "./command.ts";

/** The options of commands about deliveries; they are no A2A, so it has no version to choose. */
export const PUSH_OPTIONS = {
  json: AGENT_OPTIONS.json,
  ...AUTH_OPTIONS,
} as const satisfies Record<string, CommandOption>;
