import { once } from "node:events";
import type { Agent } from "@convoke/protocol";
import { type AgentServer, createLogger, serve } from "./serve-agent.ts";
import type { CommandIo } from "../terminal/command.ts";
import { loadConfig } from "./config.ts";
import { loadAgent } from "./load-agent.ts";
import { type ServeSettings, type ServerConfig, loadEnvFile, readSettings } from "./settings.ts";
import { type ServeFlags, explainFatal, explainStart } from "./start-problems.ts";
import { relative, resolve } from "node:path";
import { oneLine } from "@convoke/protocol/internal";
import { isLoopback } from "../credentials/environment.ts";

export interface ServeRequest {
  readonly file: string | undefined;
  readonly port: string | undefined;
  readonly data: string | undefined;
  /** The file with the configuration. */
  readonly config: string | undefined;
  readonly io: CommandIo;
  /** Set if this server may replace another one. */
  readonly handover?: Handover;
}

/** How a server takes over from one that runs an older version of the agent. */
interface Handover {
  /** This is not the first server: the address is known to the user. */
  readonly isReload: boolean;
  /** Resolves when the port and the data folder are free. The agent is loaded by then. */
  readonly loaded: () => Promise<void>;
  readonly listening: (port: number) => void;
}

/** Starts the server, prints its address, and resolves when it has stopped. */
export async function runServer(request: ServeRequest): Promise<void> {
  const { file, port, data, config, io, handover } = request;
  loadEnvFile();
  const command = handover === undefined ? "serve" : "dev";
  const flags = { command, file, port, data, started: io.started } as const;
  const settings = readSettings(flags, io.env, await loadConfig(config));
  const agent = await loadAgent(file);
  await handover?.loaded();
  const server = await startServer({ agent, settings, flags, io });
  handover?.listening(server.port);
  const isReload = handover?.isReload === true;
  io.stdout(
    isReload
      ? `${agent.info.name} is reloaded.\n`
      : banner({
          name: agent.info.name,
          program: io.started.program,
          url: server.url,
          folder: server.folder,
          recovered: server.recovered,
          isDemo: file === undefined,
          needsToken: settings.auth !== undefined || settings.authenticate !== undefined,
        }),
  );
  await stopOnSignal(server, { ...settings, isQuiet: handover !== undefined }, io);
}

/** Resolves when the server was stopped by a signal. Unless it is quiet, it says that it stops. */
export async function stopOnSignal(
  server: AgentServer,
  { drainMs, isQuiet = false }: Pick<ServeSettings, "drainMs"> & { readonly isQuiet?: boolean },
  io: CommandIo,
): Promise<void> {
  if (!io.signal.aborted) await once(io.signal, "abort");
  const isDone = isQuiet ? undefined : announceStop(drainMs, io);
  await server.close({ drainMs });
  isDone?.();
}

/** A server without work stops before anybody would wonder. */
const SILENT_MS = 200;

/** Tells a person at a terminal why the server does not stop at once. Call the result when it has. */
function announceStop(drainMs: number, io: CommandIo): () => void {
  if (!io.isTTY.stderr) return () => undefined;
  const seconds = Math.ceil(drainMs / 1000);
  const timer = setTimeout(() => {
    io.stderr(
      `Stopping: running tasks have up to ${seconds} s to finish. Press Ctrl+C again to stop at once; ` +
        "unfinished tasks are recovered at the next start.\n",
    );
  }, SILENT_MS);
  return () => clearTimeout(timer);
}

interface Start {
  readonly agent: Agent;
  readonly settings: ServeSettings & ServerConfig;
  readonly flags: ServeFlags;
  readonly io: CommandIo;
}

/** Starts the server, and explains why if it cannot. */
export async function startServer({ agent, settings, flags, io }: Start): Promise<AgentServer> {
  const { logLevel, logFormat, drainMs: _, ...options } = settings;
  const isForPeople = logFormat === "auto" ? io.isTTY.stderr : logFormat === "pretty";
  const { file, command } = flags;
  try {
    return await serve(agent, {
      ...options,
      // The file of the coding agent is a workspace, which is not what identifies it.
      ...(file !== undefined && command !== "code" && { source: resolve(file) }),
      logger: createLogger({ level: logLevel, isForPeople }, io.stderr),
      onFatal: (error) => {
        io.stderr(`${explainFatal(error)}\n`);
        process.exit(1);
      },
    });
  } catch (error) {
    throw explainStart(error, settings, flags);
  }
}

/** The text that is printed when the server is ready: its address and what to try next. */
function banner(facts: {
  readonly name: string;
  readonly program: string;
  readonly url: string;
  /** Absent if nothing is stored on disk. */
  readonly folder: string | undefined;
  /** What happened to the unfinished tasks of the last run. */
  readonly recovered: AgentServer["recovered"];
  readonly isDemo: boolean;
  readonly needsToken: boolean;
}): string {
  const { name, program, url, folder, recovered, isDemo, needsToken } = facts;
  const base = url.replace(/\/$/, "");
  const path = folder === undefined ? undefined : relative(process.cwd(), folder) || ".";
  const where = path === undefined ? "in memory, lost when the server stops" : `${path} (SQLite)`;
  // CONVOKE_TOKEN is sent only to this machine and to CONVOKE_URL.
  const place = isLoopback(url) ? "" : `CONVOKE_URL=${base} `;
  const token = needsToken ? `CONVOKE_TOKEN=… ${place}` : "";
  const tries = isDemo
    ? ['stream URL "slow 20"', "send URL ask", "tasks URL"]
    : ['stream URL "Hello"', "tasks URL"];
  const { others, ...own } = recovered;
  const earlier = Object.entries(own).filter(([, count]) => count > 0);
  const told = earlier.map(([fate, count]) => `${count} ${fate}`).join(", ");
  const left = told === "" ? "" : `  Earlier  unfinished tasks: ${told}\n`;
  const foreign = others.map(
    ({ agent, agentId, tasks }) =>
      `  Others   ${tasks} unfinished of the agent ${oneLine(agent, 60)}, left alone. To end them, stop this server and run:
           npx convoke tasks end --data ${path} --agent ${agentId}\n`,
  );
  return `${name} is ready.

  Card     ${base}/.well-known/agent-card.json
  Tasks    ${where}
${left}${foreign.join("")}
Try in another terminal:

${tries.map((line) => `  ${token}${program} ${line.replace("URL", base)}`).join("\n")}

Press Ctrl+C to stop.
`;
}
