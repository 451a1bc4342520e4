import type { CoderOptions } from "@convoke/coder";
import type { Agent } from "@convoke/protocol";
import { agentIdFrom, checkAgentId, isObject } from "@convoke/protocol/internal";
import { type ModelAgentDefinition, ModelError, checkModels, defineAgent } from "@convoke/runtime";
import { basename } from "node:path";
import { processAgent } from "./processes/agent/process-agent.ts";
import type { ProcessAgentOptions } from "./processes/program/process-options.ts";

/** An agent of a module: the path of the file whose default export it is. */
export interface ModuleEntry {
  readonly module: string;
}

/** An agent with a model, as in `defineAgent`. */
export interface ModelEntry extends Omit<ModelAgentDefinition, "id" | "name" | "run"> {
  /** Default: its id. */
  readonly name?: string;
}

/** A coding agent, as in `coder`. */
export interface CoderEntry extends Omit<CoderOptions, "id"> {
  /** Default: its id. */
  readonly name?: string;
}

/** A program, as in `processAgent`. */
export interface ProcessEntry extends Omit<ProcessAgentOptions, "id" | "name" | "description"> {
  /** Default: its id. */
  readonly name?: string;
  /** Default: which program it is. */
  readonly description?: string;
}

/** An agent of a configuration. A text is the path of a module. */
export type AgentEntry = string | Agent | ModuleEntry | ModelEntry | CoderEntry | ProcessEntry;

/** What an agent is made of. "code": it is an agent already. */
type AgentKind = "code" | "module" | "model" | "coder" | "process";

/** Loads the default export of a file, which must be an agent. */
type LoadModule = (path: string) => Promise<Agent>;

/** Finds out what an entry is. Throws if it is none. */
function kindOf(entry: unknown): AgentKind {
  if (typeof entry === "string") return "module";
  if (!isObject(entry)) throw new TypeError(`must be an object or the path of a module. ${FORMS}`);
  if (typeof entry["run"] === "function" && isObject(entry["info"])) return "code";
  if (entry["module"] !== undefined) return "module";
  // In this order, because a coding agent has a model, and a program has a workspace.
  if (entry["command"] !== undefined) return "process";
  if (entry["workspace"] !== undefined) return "coder";
  if (entry["model"] !== undefined) return "model";
  throw new TypeError(`is no agent. ${FORMS}`);
}

const FORMS =
  "Give it a model (an agent with a model), a command (a program), a workspace (a coding agent), a module (a file) or a url (an agent elsewhere, which is listed)";

/**
 * Makes the agent of an entry. Errors name its place, such as `agents.poet`, and what is wrong.
 *
 * @param id the key of the entry, which is the id of the agent
 */
export async function buildAgent(
  id: string,
  entry: AgentEntry,
  loadModule: LoadModule,
): Promise<Agent> {
  const place = `agents.${id}`;
  try {
    checkAgentId(id);
    const agent = await makeAgent(id, entry, loadModule);
    const own = agent.id ?? agentIdFrom(agent.info.name);
    if (own === id) return agent;
    throw new TypeError(
      `the agent has the id ${JSON.stringify(own)}: use it as the key, or set its id to ${JSON.stringify(id)}`,
    );
  } catch (error) {
    const isMistake = error instanceof TypeError || error instanceof RangeError;
    if (!isMistake && !(error instanceof ModelError)) throw error;
    throw new TypeError(placed(place, error.message), { cause: error });
  }
}

/** Errors begin with the function that makes the agent, which the user of a configuration does not call. */
const MAKER = /^(?:defineAgent|processAgent|coder)(?=[ :])/;

function placed(place: string, problem: string): string {
  if (MAKER.test(problem)) return problem.replace(MAKER, place);
  return /^(?:must be|is no) /.test(problem) ? `${place} ${problem}` : `${place}: ${problem}`;
}

async function makeAgent(id: string, entry: AgentEntry, load: LoadModule): Promise<Agent> {
  switch (kindOf(entry)) {
    case "code":
      return entry as Agent;
    case "module":
      return load(modulePath(entry as string | ModuleEntry));
    case "process": {
      const given = entry as ProcessEntry;
      const description = `The program ${basename(String(given.command))}.`;
      return processAgent({ name: id, description, ...given, id });
    }
    case "coder": {
      // Loaded on demand: it has a parser of shell lines, which other agents do not need.
      const { coder } = await import("@convoke/coder");
      return coder({ name: id, ...(entry as CoderEntry), id });
    }
    case "model": {
      const given = entry as ModelEntry;
      if (!given.description) {
        throw new TypeError("description is required: what the agent does, for its card");
      }
      const agent = defineAgent({ name: id, ...given, id });
      checkModels(given.model, given.modelOptions);
      return agent;
    }
  }
}

function modulePath(entry: string | ModuleEntry): string {
  if (typeof entry === "string") return entry;
  const other = Object.keys(entry).find((name) => name !== "module");
  if (other !== undefined) {
    throw new TypeError(`a module has no other fields: remove ${JSON.stringify(other)}`);
  }
  if (typeof entry.module === "string") return entry.module;
  throw new TypeError("module must be the path of a file");
}
