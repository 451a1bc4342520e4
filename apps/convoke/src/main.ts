import { COMMANDS } from "./cli/commands.ts";
import { main } from "./cli/main.ts";
import { createProcessIo } from "./terminal/process-io.ts";

const { io, close } = createProcessIo();

process.exitCode = await main(process.argv.slice(2), io, COMMANDS);
close();
// The user stopped the command: do not wait for an agent that keeps running.
if (io.signal.aborted) process.exit();
