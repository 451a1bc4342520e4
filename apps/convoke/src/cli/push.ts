import type { CommandGroup } from "./command.ts";
import { pushListCommand } from "./push-list.ts";
import { pushReplayCommand } from "./push-replay.ts";

export const pushCommands: CommandGroup = {
  name: "push",
  summary: "See push notifications that were given up, and try them again",
  commands: [pushListCommand, pushReplayCommand],
};
