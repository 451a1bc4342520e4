import { existsSync, realpathSync } from "node:fs";
import { type Command, type CommandContext, UsageError } from "../terminal/command.ts";
import { SERVE_ENVIRONMENT, SERVE_OPTIONS, orNotStarted, readServeOptions } from "./serve.ts";

const DEFAULT_FILE = "agent.ts";

export const devCommand: Command = {
  name: "dev",
  summary: "Serve an agent and reload it whenever its sources change",
  usage: "[file] [options]",
  examples: ["convoke dev", "convoke dev agent.ts --port 4000"],
  options: SERVE_OPTIONS,
  environment: {
    ...SERVE_ENVIRONMENT,
    CONVOKE_DRAIN_MS: "How long running tasks may take to finish before a reload (1000)",
  },
  more: `The file is ${DEFAULT_FILE} by default. Watched are all files that it imports outside node_modules,
convoke.config.ts and .env. The new version is loaded before the old one stops: if it cannot be
loaded, the error is printed and the old one keeps running. Unfinished tasks are recovered as after
a restart of the server, and clients that stream reconnect and miss nothing.`,
  run: dev,
};

/** The command runs twice: the process that the user started supervises the one that serves. */
async function dev(context: CommandContext): Promise<number> {
  const { io, positionals } = context;
  const [file = DEFAULT_FILE] = positionals;
  if (positionals.length > 1) {
    throw new UsageError(`One agent, not ${positionals.length} (${positionals.join(", ")}).`);
  }
  if (positionals.length === 0 && !existsSync(DEFAULT_FILE)) {
    throw new UsageError(`There is no ${DEFAULT_FILE} here: name the file of your agent.`);
  }
  const { isDevServer, runDevServer } = await import("../dev/dev-server.ts");
  if (isDevServer(io.env)) {
    return orNotStarted(io, () => runDevServer({ file, ...readServeOptions(context) }));
  }
  const { agentPath } = await import("../host/load-agent.ts");
  const { Supervisor } = await import("../dev/supervisor.ts");
  const args = Object.keys(SERVE_OPTIONS).flatMap((option) => {
    const value = context.text(option);
    return value === undefined ? [] : [`--${option}`, value];
  });
  return orNotStarted(io, () =>
    new Supervisor(realpathSync(agentPath(file)), ["dev", file, ...args], io).run(),
  );
}
