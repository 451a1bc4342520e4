import { type ProcessAgentOptions, type RemoteAgent, connect, processAgent, serve } from "convoke";
import { onTestFinished } from "vitest";
import { createJsonLogger } from "@convoke/engine";
import { temporaryFolder } from "../start/temporary-folder.ts";

const ACP_PROGRAM = new URL("programs/acp-program.ts", import.meta.url).pathname;

/** The options of an agent whose program speaks ACP and does what its prompt says. */
export function acpOptions(more: Partial<ProcessAgentOptions> = {}): ProcessAgentOptions {
  return {
    name: "program",
    description: "Does what it is told",
    command: process.execPath,
    args: [ACP_PROGRAM],
    protocol: "acp",
    workspace: temporaryFolder(),
    ...more,
    // They are started often, and load the same file each time.
    env: { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? "", ...more.env },
  };
}

export interface ServedProgram {
  readonly remote: RemoteAgent;
  /** The lines of the operator's log. */
  readonly log: readonly string[];
  readonly options: ProcessAgentOptions;
}

/** Serves a program from memory, and connects to it. */
export async function serveProgram(options: ProcessAgentOptions): Promise<ServedProgram> {
  const log: string[] = [];
  const logger = createJsonLogger("debug", (line) => void log.push(line));
  const server = await serve(processAgent(options), { port: 0, data: "memory", logger });
  onTestFinished(() => server.close());
  return { remote: await connect(server.url, { cache: false }), log, options };
}

/** Whether a process still runs. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
