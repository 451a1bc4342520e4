import { once } from "node:events";
import type { Agent } from "@convoke/protocol";
import type { ServerAgent } from "@convoke/server";
import { type AgentServer, createLogger, serve } from "./serve-agent.ts";
import type { CommandIo } from "../terminal/command.ts";
import { StartError, loadConfig } from "./config.ts";
import { addressWarning, readPlaceInDatabase } from "./database-lines.ts";
import { demoAgent, loadAgents } from "./load-agent.ts";
import { type ServeSettings, type ServerConfig, loadEnvFile, readSettings } from "./settings.ts";
import { type ServeFlags, explainFatal, explainStart } from "./start-problems.ts";
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { type Logger, agentKey } from "@convoke/engine";
import { HOST_FOLDER, defaultFolderOf } from "@convoke/runtime/agent-data";
import { quoted } from "../terminal/command-line.ts";
import { oneLine } from "@convoke/protocol/internal";
import { isLoopback } from "../credentials/environment.ts";

export interface ServeRequest {
  /** The files and folders of the agents. None for the demo. */
  readonly files: readonly string[];
  /** The command lines of programs that are agents. Default: none. */
  readonly processes?: readonly string[];
  readonly port: string | undefined;
  readonly data: string | undefined;
  /** The address of a database that holds the tasks. */
  readonly database: string | undefined;
  readonly noMigrate?: true | undefined;
  /** Set if every completed status repeats the answer. */
  readonly finalMessage?: true | undefined;
  /** Set if the agents include those that an earlier version has stored. */
  readonly storedAgentsTakenOver?: true | undefined;
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
  const { files, processes = [], io, handover } = request;
  loadEnvFile();
  const flags = toFlags(request);
  const config = await loadConfig(request.config);
  const settings = readSettings(flags, io.env, config);
  const agent = await loadAgents({ config, files, processes });
  checkRemoteIds(agent, settings);
  await handover?.loaded();
  const isDefault = settings.data === undefined && settings.database === undefined;
  const left = Array.isArray(agent) && isDefault ? earlierData(agent) : [];
  const server = await startServer({ agent, settings, flags, io });
  handover?.listening(server.port);
  const isReload = handover?.isReload === true;
  const facts = {
    server,
    program: io.started.program,
    isDemo: agent === demoAgent,
    isSeveral: Array.isArray(agent),
    tasks: isReload ? "" : await placeOfTasks(server, settings),
    hasConsole: settings.console ?? isLoopback(server.url),
    needsToken: settings.auth !== undefined || settings.authenticate !== undefined,
  };
  io.stdout(isReload ? reloaded(server) : banner(facts));
  for (const { id, folder } of left) {
    io.stdout(`
The tasks that ${id} had as the only agent are in ${folder}. To serve all agents with these
tasks, stop this server and start it with --data ${quoted(folder)}
`);
  }
  await stopOnSignal(server, { ...settings, isQuiet: handover !== undefined }, io);
}

/** Rejects a listed agent with the id of a served one: callers could not tell them apart. */
function checkRemoteIds(
  agent: Agent | readonly Agent[],
  { remoteAgents }: Pick<ServeSettings, "remoteAgents">,
): void {
  const taken = [agent].flat().find((one) => Object.hasOwn(remoteAgents, agentKey(one).id));
  if (taken === undefined) return;
  throw new StartError(
    `agents.${agentKey(taken).id} in the configuration is at a URL, and an agent that is served here has the same id: choose another one.`,
  );
}

/** What the user gave on the command line, for settings and hints. */
function toFlags(request: ServeRequest): ServeFlags {
  const { processes = [], io, handover, config: _, ...given } = request;
  const command = handover === undefined ? "serve" : "dev";
  return { ...given, command, processes, started: io.started };
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
      `Stopping: what has begun has up to ${seconds} s to end. Press Ctrl+C again to stop at once; ` +
        "unfinished tasks continue at the next start.\n",
    );
  }, SILENT_MS);
  return () => clearTimeout(timer);
}

interface Start {
  readonly agent: Agent | readonly Agent[];
  readonly settings: ServeSettings & ServerConfig;
  readonly flags: ServeFlags;
  readonly io: CommandIo;
}

/** Starts the server, and explains why if it cannot. */
export async function startServer({ agent, settings, flags, io }: Start): Promise<AgentServer> {
  const { logLevel: _, logFormat: _format, drainMs: _drain, ...options } = settings;
  const { files: [file] = [], command } = flags;
  const isOne = !Array.isArray(agent) && file !== undefined;
  const logger = loggerFor(settings, io);
  const warning = addressWarning(settings);
  if (warning !== undefined) logger.warn(warning);
  try {
    return await serve(agent, {
      ...options,
      // The file of the coding agent is a workspace, which is not what identifies it.
      ...(isOne && command !== "code" && { source: resolve(file) }),
      logger,
      onFatal: (error) => {
        io.stderr(`${explainFatal(error)}\n`);
        process.exit(1);
      },
    });
  } catch (error) {
    throw explainStart(error, settings, flags);
  }
}

/** The log of the operator, as its settings say. */
function loggerFor(
  { logLevel, logFormat }: Pick<ServeSettings, "logLevel" | "logFormat">,
  io: CommandIo,
): Logger {
  const isForPeople = logFormat === "auto" ? io.isTTY.stderr : logFormat === "pretty";
  return createLogger({ level: logLevel, isForPeople }, io.stderr);
}

/** Data folders that agents used alone, if they share a folder now for the first time. */
function earlierData(
  agents: readonly Agent[],
): readonly { readonly id: string; readonly folder: string }[] {
  if (existsSync(join(HOST_FOLDER, "tasks.db"))) return [];
  return agents.flatMap((agent) => {
    const { id } = agentKey(agent);
    const folder = defaultFolderOf(id);
    return existsSync(join(folder, "tasks.db")) ? [{ id, folder: fromHere(folder) }] : [];
  });
}

function fromHere(folder: string): string {
  return relative(process.cwd(), folder) || ".";
}

function reloaded({ agents }: AgentServer): string {
  const names = Array.from(agents, ({ name }) => oneLine(name));
  return `${names.join(", ")} ${names.length === 1 ? "is" : "are"} reloaded.\n`;
}

/** Where the tasks are, for the line that says what runs. */
async function placeOfTasks(server: AgentServer, settings: ServeSettings): Promise<string> {
  const { folder, replicas } = server;
  const { database } = settings;
  if (database !== undefined && replicas !== undefined) {
    return readPlaceInDatabase(database, replicas);
  }
  return folder === undefined
    ? "tasks in memory, lost when the server stops"
    : `tasks in ${fromHere(folder)} (SQLite)`;
}

interface StartFacts {
  readonly server: AgentServer;
  readonly program: string;
  readonly isDemo: boolean;
  readonly isSeveral: boolean;
  readonly tasks: string;
  readonly hasConsole: boolean;
  readonly needsToken: boolean;
}

/** What is printed when the server is ready: what runs, where to look, and what to type. */
function banner(facts: StartFacts): string {
  const { server, program, isDemo, isSeveral, tasks, hasConsole, needsToken } = facts;
  const base = server.url.replace(/\/$/, "");
  // CONVOKE_TOKEN is sent only to this machine and to CONVOKE_URL.
  const place = isLoopback(server.url) ? "" : `CONVOKE_URL=${base} `;
  const token = needsToken ? `CONVOKE_TOKEN=… ${place}` : "";
  const agents = Array.from(server.agents);
  const [first] = agents;
  const tried = isSeveral ? `${base}/agents/${first?.id}` : base;
  const list = isSeveral ? "agents.json" : "agent-card.json";
  const page = hasConsole ? `${base}/console` : `${base}/.well-known/${list}`;
  const off = first?.isEnabled === false ? " (disabled)" : "";
  const what = agents.length === 1 ? `${first!.name}${off}` : `${agents.length} agents`;
  return startLines([
    ["Running", `${oneLine(what)} at ${base}, ${tasks}`],
    ...(isSeveral ? agents.map((agent) => agentLine(base, agent)) : []),
    ...recoveredLines(server),
    ["Look at", page],
    ["Type", `${token}${program} stream ${tried} "${isDemo ? "slow 20" : "Hello"}"`],
  ]);
}

type StartLine = readonly [label: string, text: string];

/** The lines of a start, each behind its label. */
export function startLines(lines: readonly StartLine[]): string {
  return lines.map(([label, text]) => `${label.padEnd(9)}${text}\n`).join("");
}

function agentLine(base: string, { id, isDefault, isEnabled }: ServerAgent): StartLine {
  const also = isDefault ? `, also at ${base}` : "";
  return ["Agent", `${base}/agents/${id}${also}${isEnabled ? "" : ", disabled"}`];
}

/** What became of the tasks that an earlier process left unfinished, if there are some. */
function recoveredLines({ recovered, folder = "" }: AgentServer): readonly StartLine[] {
  const { others, ...own } = recovered;
  const fates = Object.entries(own).filter(([, count]) => count > 0);
  const told = fates.map(([fate, count]) => `${count} ${fate}`).join(", ");
  return [
    ...(told === "" ? [] : [["Earlier", `unfinished tasks: ${told}`] as const]),
    ...others.map(({ agent, agentId, tasks }): StartLine => {
      const line = `npx convoke tasks end --data ${fromHere(folder)} --agent ${agentId}`;
      const words = `${tasks} unfinished of the agent ${oneLine(agent, 60)}, left alone. To end them, stop this server and run: ${line}`;
      return ["Others", words];
    }),
  ];
}
