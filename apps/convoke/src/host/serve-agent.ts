import type { Agent } from "@convoke/protocol";
import { type DataOptions, openAgentData, retentionFor } from "@convoke/runtime/agent-data";
import {
  type MountOptions,
  type Mounted,
  type ServeOptions,
  type Server,
  mount as mountOn,
  serve as serveOn,
} from "@convoke/server";
import { type LogLevel, type Logger, createJsonLogger, createTextLogger } from "@convoke/engine";

/** How to serve an agent. Every option has a default that suits local development. */
export interface ServeAgentOptions
  extends Partial<Omit<ServeOptions, "openBackend">>, DataOptions {}

/** Serves an agent on a port, with its tasks in SQLite. */
export function serve(agent: Agent, options: ServeAgentOptions = {}): Promise<Server> {
  const { data, onFatal, logger = defaultLogger(), ...rest } = options;
  return serveOn(agent, {
    port: 3000,
    host: "127.0.0.1",
    ...rest,
    logger,
    retention: retentionFor(data, rest.retention),
    openBackend: ({ port }) => openAgentData(agent, { data, onFatal, logger, holder: { port } }),
  });
}

/** How to mount an agent in an app. Every option has a default that suits local development. */
export interface MountAgentOptions
  extends Partial<Omit<MountOptions, "openBackend">>, DataOptions {}

/** Mounts an agent in an app that has its own port, with its tasks in SQLite. */
export function mount(agent: Agent, options: MountAgentOptions = {}): Promise<Mounted> {
  const { data, onFatal, logger = defaultLogger(), ...rest } = options;
  return mountOn(agent, {
    ...rest,
    logger,
    retention: retentionFor(data, rest.retention),
    openBackend: () => openAgentData(agent, { data, onFatal, logger }),
  });
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
