import type { AgentCatalog, CatalogStore } from "@convoke/host";
import type { Agent } from "@convoke/protocol";
import { agentIdFrom } from "@convoke/protocol/internal";
import { HOST_FOLDER } from "@convoke/runtime/agent-data";
import { join } from "node:path";
import { type ConvokeConfig, StartError, configuredAgents } from "./config.ts";
import { parseProgram } from "./program-line.ts";
import { agentFiles, loadAgent, loadAgents } from "./load-agent.ts";

/** Where the agents of a server come from. */
interface CatalogSources {
  readonly config: ConvokeConfig;
  /** The files and folders of agents on the command line. */
  readonly files: readonly string[];
  /** The command lines of programs. */
  readonly processes: readonly string[];
  /** The data folder, or "memory". Default: that of several agents. */
  readonly data: string | undefined;
  /** The address of the database that servers share. Then the changes are there. */
  readonly database: string | undefined;
}

/** A catalogue, whose store is closed with it. */
export interface OpenedCatalog extends AsyncDisposable {
  readonly catalog: AgentCatalog;
}

/** The file in the data folder with the changes that operators have made. */
const CATALOG_FILE = "agents.json";

/**
 * The agents that a command line and a configuration name. `undefined` if it is a single file or the
 * demo: the storage of a single agent belongs to that agent, so that others cannot be added.
 */
export async function openCatalog(sources: CatalogSources): Promise<OpenedCatalog | undefined> {
  const { config, files, processes } = sources;
  const { allowProcesses = false, allowModules = false } = config;
  const { served: entries } = configuredAgents(config);
  const isSingle = entries === undefined && processes.length === 0;
  if (isSingle && files.length === 0 && config.agents !== undefined) throw nothingToServe();
  const loaded = isSingle ? await loadAgents(files) : await Promise.all(filesOf(files));
  if (!Array.isArray(loaded)) return undefined;
  // Loaded on demand: a single agent starts faster without it.
  const { AgentCatalog } = await import("@convoke/host");
  const programs = await Promise.all(processes.map((line) => programAgent(line)));
  const { store, close } = await explained(() => openStore(sources));
  try {
    const catalog = await explained(() =>
      AgentCatalog.open({
        entries: entries ?? {},
        agents: [...(loaded as readonly Agent[]), ...programs],
        store,
        allowProcesses,
        allowModules,
        loadModule: (path) => loadAgent(path),
      }),
    );
    checkAgents(catalog, config);
    return {
      catalog,
      [Symbol.asyncDispose]: async () => {
        catalog.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface OpenedStore {
  readonly store: CatalogStore;
  readonly close: () => Promise<void>;
}

async function openStore({ data = HOST_FOLDER, database }: CatalogSources): Promise<OpenedStore> {
  const { FileCatalogStore, MemoryCatalogStore, SharedCatalogStore } =
    await import("@convoke/host");
  const close = async (): Promise<void> => {};
  if (database !== undefined) {
    const { openPostgresValues } = await import("@convoke/backends/postgres");
    const values = await openPostgresValues({ url: database });
    const store = new SharedCatalogStore(values.open);
    return { store, close: async () => values[Symbol.asyncDispose]() };
  }
  if (data === "memory") return { store: new MemoryCatalogStore(), close };
  return { store: new FileCatalogStore(join(data, CATALOG_FILE)), close };
}

function filesOf(paths: readonly string[]): readonly Promise<Agent>[] {
  return agentFiles(paths).map((file) => loadAgent(file));
}

function checkAgents({ agents }: AgentCatalog, { default: chosen }: ConvokeConfig): void {
  if (agents.length === 0) throw nothingToServe();
  const ids = agents.map(({ id, info }) => id ?? agentIdFrom(info.name));
  if (chosen === undefined || ids.includes(chosen)) return;
  throw new StartError(
    `default in the configuration must be the id of an agent (${ids.join(", ")}), not ${JSON.stringify(chosen)}.`,
  );
}

function nothingToServe(): StartError {
  return new StartError(
    "There is no agent to serve: add one to agents in the configuration, or name a file.",
  );
}

/** Mistakes in the configuration, and a database that cannot be used, stop the start with one sentence. */
async function explained<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    const isDatabase = error instanceof Error && error.name === "DatabaseError";
    if (!isDatabase && !(error instanceof TypeError)) throw error;
    throw new StartError(`${error.message.replace(/\.$/, "")}.`, { cause: error });
  }
}

/** The agent of a program that runs in the current folder. */
async function programAgent(line: string): Promise<Agent> {
  const program = parseProgram(line);
  if (program === undefined) throw new StartError("--process needs a program.");
  const { id, ...entry } = program;
  const { buildAgent } = await import("@convoke/host");
  return explained(() => buildAgent(id, { ...entry, workspace: process.cwd() }, loadAgent));
}
