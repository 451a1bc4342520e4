import { cardCommand } from "./card.ts";
import type { Command } from "./command.ts";
import { sendCommand } from "./send.ts";
import { serveCommand } from "./serve.ts";
import { streamCommand } from "./stream.ts";
import { tasksCommand } from "./tasks.ts";

/** Everything that `convoke` can do, in the order of the overview. A new command is a line here. */
export const COMMANDS: readonly Command[] = [
  serveCommand,
  cardCommand,
  sendCommand,
  streamCommand,
  tasksCommand,
];
