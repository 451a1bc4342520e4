import type { Agent } from "@convoke/protocol";
import {
  type AgentData,
  type AgentDataOptions,
  openAgentData,
  registerAgent,
  retentionFor,
} from "@convoke/runtime/agent-data";
import {
  type MountOptions,
  type Mounted,
  type ServeOptions,
  type Server,
  mount as mountOn,
  serve as serveOn,
} from "@convoke/server";
import { type LogLevel, type Logger, createJsonLogger, createTextLogger } from "@convoke/engine";

type StorageOptions = Pick<AgentDataOptions, "data" | "onFatal" | "source">;

/** How to serve an agent. Every option has a default that suits local development. */
export interface ServeAgentOptions
  extends Partial<Omit<ServeOptions, "openBackend">>, StorageOptions {}

/** A running server of an agent. */
export interface AgentServer extends Server {
  /** The id under which the tasks of the agent are stored. */
  readonly agentId: string;
  /** The data folder. Absent if nothing is stored on disk. */
  readonly folder?: string;
}

/** Serves an agent on a port, with its tasks in SQLite. */
export async function serve(agent: Agent, options: ServeAgentOptions = {}): Promise<AgentServer> {
  const { data, onFatal, source, logger = defaultLogger(), ...rest } = options;
  let opened: AgentData | undefined;
  const server = await serveOn(agent, {
    port: 3000,
    host: "127.0.0.1",
    ...rest,
    logger,
    retention: retentionFor(data, rest.retention),
    openBackend: async ({ port }, metrics) => {
      const holder = { port };
      return (opened = await openAgentData(agent, {
        data,
        onFatal,
        source,
        logger,
        metrics,
        tracing: rest.tracing,
        holder,
      }));
    },
  });
  const { key, folder } = opened!;
  const running = registered(agent, server);
  return { ...running, agentId: key.id, ...(folder !== undefined && { folder }) };
}

/** How to mount an agent in an app. Every option has a default that suits local development. */
export interface MountAgentOptions
  extends Partial<Omit<MountOptions, "openBackend">>, StorageOptions {}

/** Mounts an agent in an app that has its own port, with its tasks in SQLite. */
export async function mount(agent: Agent, options: MountAgentOptions = {}): Promise<Mounted> {
  const { data, onFatal, source, logger = defaultLogger(), ...rest } = options;
  const mounted = await mountOn(agent, {
    ...rest,
    logger,
    retention: retentionFor(data, rest.retention),
    openBackend: (metrics) =>
      openAgentData(agent, { data, onFatal, source, logger, metrics, tracing: rest.tracing }),
  });
  return registered(agent, mounted);
}

/** Lists the agent on the card of this process until it is closed. */
function registered<Running extends Mounted | Server>(agent: Agent, running: Running): Running {
  const unregister = registerAgent(agent);
  const close: Running["close"] = async (options) => {
    unregister();
    await running.close(options);
  };
  return { ...running, close, [Symbol.asyncDispose]: () => close() };
}

/** Logs warnings and errors to stderr. */
function defaultLogger(): Logger {
  const { stderr } = process;
  return createLogger({ level: "warn", isForPeople: stderr.isTTY }, (text) => stderr.write(text));
}

/** A logger whose lines are text for people, or JSON for programs. */
export function createLogger(
  { level, isForPeople }: { readonly level: LogLevel; readonly isForPeople: boolean },
  write: (text: string) => void,
): Logger {
  return isForPeople ? createTextLogger(level, write) : createJsonLogger(level, write);
}
