import { approvalsCommands } from "./approvals.ts";
import { cancelCommand } from "./cancel.ts";
import { cardCommand } from "./card.ts";
import { chatCommand } from "./chat.ts";
import { checkCommand } from "./check.ts";
import type { Command, CommandGroup } from "./command.ts";
import { keysCommands } from "./keys.ts";
import { credentialsCommand } from "./list-credentials.ts";
import { loginCommand } from "./login.ts";
import { logoutCommand } from "./logout.ts";
import { mcpCommand } from "./mcp.ts";
import { pushCommands } from "./push.ts";
import { sendCommand } from "./send.ts";
import { serveCommand } from "./serve.ts";
import { streamCommand } from "./stream.ts";
import { tasksCommand } from "./tasks.ts";
import { watchCommand } from "./watch.ts";

/** Everything that `convoke` can do, in the order of the overview. A new command is a line here. */
export const COMMANDS: readonly (Command | CommandGroup)[] = [
  serveCommand,
  cardCommand,
  chatCommand,
  sendCommand,
  streamCommand,
  tasksCommand,
  watchCommand,
  cancelCommand,
  checkCommand,
  mcpCommand,
  approvalsCommands,
  pushCommands,
  loginCommand,
  logoutCommand,
  credentialsCommand,
  keysCommands,
];
