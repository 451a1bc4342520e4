import type { CommandGroup } from "./command.ts";
import { pushDeleteCommand } from "./push-delete.ts";
import { pushListCommand } from "./push-list.ts";
import { pushReplayCommand } from "./push-replay.ts";
import { pushSetCommand } from "./push-set.ts";
import { pushShowCommand } from "./push-show.ts";

export const pushCommands: CommandGroup = {
  name: "push",
  summary: "Have updates pushed to a webhook; see what was given up, and try it again",
  commands: [
    pushSetCommand,
    pushShowCommand,
    pushDeleteCommand,
    pushListCommand,
    pushReplayCommand,
  ],
};
