import { COMMANDS } from "./cli/commands.ts";
import { main } from "./cli/main.ts";
import { createProcessIo } from "./terminal/process-io.ts";

const { io, close } = createProcessIo();

process.exitCode = await main(process.argv.slice(2), io, COMMANDS);
close();
// Whoever said stop does not wait for an agent that went on all the same.
if (io.signal.aborted) process.exit();
