import type { CommandGroup } from "./command.ts";
import { keysCardCommand } from "./keys-card.ts";

export const keysCommands: CommandGroup = {
  name: "keys",
  summary: "Make the keys that a server needs",
  commands: [keysCardCommand],
};
