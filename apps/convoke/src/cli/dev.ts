import { existsSync, realpathSync } from "node:fs";
import { type Command, type CommandContext, UsageError } from "../terminal/command.ts";
import { SERVE_ENVIRONMENT, SERVE_OPTIONS, orNotStarted, readServeOptions } from "./serve.ts";

const DEFAULT_FILE = "agent.ts";

export const devCommand: Command = {
  name: "dev",
  summary: "Serve one or several agents and reload them whenever their sources change",
  usage: "[file or folder ...] [options]",
  examples: ["convoke dev", "convoke dev agent.ts --port 4000", "convoke dev greeter.ts poet.ts"],
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
  const files = positionals.length === 0 ? [DEFAULT_FILE] : positionals;
  if (positionals.length === 0 && !existsSync(DEFAULT_FILE)) {
    throw new UsageError(`There is no ${DEFAULT_FILE} here: name the file of your agent.`);
  }
  const { isDevServer, runDevServer } = await import("../dev/dev-server.ts");
  if (isDevServer(io.env)) {
    return orNotStarted(io, () => runDevServer({ files, ...readServeOptions(context) }));
  }
  const { agentFiles, agentPath } = await import("../host/load-agent.ts");
  const { Supervisor } = await import("../dev/supervisor.ts");
  const args = Object.keys(SERVE_OPTIONS).flatMap((option) => {
    if (context.flag(option)) return [`--${option}`];
    const value = context.text(option);
    return value === undefined ? [] : [`--${option}`, value];
  });
  return orNotStarted(io, () => {
    const sources = agentFiles(files).map((file) => realpathSync(agentPath(file)));
    return new Supervisor(sources, ["dev", ...files, ...args], io).run();
  });
}
