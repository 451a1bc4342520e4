import {
  type Agent,
  type AgentEnvironment,
  type AgentExtension,
  type AgentInfo,
  type AgentSkill,
  type AgentTool,
  EXTENSIONS,
  type ExtensionName,
  type InternalEvent,
  type Metadata,
  type Task,
  type Turn,
} from "@convoke/protocol";
import { acceptAnswer } from "../approvals/accept-answer.ts";
import { runLoop } from "./loop-run.ts";
import { type LoopDefinition, loopSettings, standaloneSettings } from "../run/loop-settings.ts";
import { RunReports } from "./run-report.ts";
import { McpServers } from "../mcp/mcp-servers.ts";

/** An agent with a model. */
export interface ModelAgent extends Agent {
  /** Works on a turn of a loop that runs without a server. */
  runStandalone(turn: Turn): ReturnType<Agent["run"]>;
  report(task: Task): Metadata;
  abandon(task: Task, journal: readonly InternalEvent[]): void;
  tools(): readonly AgentTool[];
  /** Prepares a loop that runs without a server: a model that cannot be used fails its tasks. */
  prepareStandalone(place: AgentEnvironment): void;
}

/** Creates an agent from a model and tools. */
export function modelAgent(
  info: AgentInfo,
  definition: LoopDefinition,
  id: Pick<Agent, "id"> = {},
): ModelAgent {
  if (info.takesMessages) {
    throw new TypeError(
      "an agent with a model takes no messages while it works: leave takesMessages out",
    );
  }
  const settings = loopSettings(info.name, definition);
  const { mcp, subAgents, identity } = settings;
  const reports = new RunReports(settings);
  const own: AgentInfo = {
    ...info,
    // Before its first recorded event the loop has done nothing, so it can always be restarted.
    restart: true,
    extensions: declaredExtensions(info.extensions, definition),
  };
  const prepare = (place: AgentEnvironment): void => {
    identity.prepare(place);
    settings.approvals.grants.prepare(place);
    subAgents?.prepare(place);
    // Last, because it starts processes: if a step above throws, nothing would end them.
    mcp?.prepare(place);
  };
  const taken = toolNames(definition);
  const isShown = (id: string): boolean => settings.isPermitted(id) && !taken.has(id);
  const shown = mcp && infoWithSkills(own, () => mcp.skills(), isShown);
  return {
    ...id,
    get info() {
      return shown?.() ?? own;
    },
    run: (turn) => runLoop(turn, settings, reports),
    runStandalone: (turn) => runLoop(turn, standaloneSettings(settings), reports),
    report: (task) => reports.task(task),
    tools: () => reports.toolsNow().map(({ name, description }) => ({ name, description })),
    accept: (task, message, at) => acceptAnswer(task, message, { now: at }),
    prepare: (place) => {
      settings.models.check(place.logger);
      settings.log.prepare(place);
      prepare(place);
    },
    prepareStandalone: prepare,
    abandon: (_task, journal) => subAgents?.abandon(journal),
    erase: async (scope) => subAgents?.erase(scope),
    grants: settings.approvals.grants.of(info.name),
    called: (agent) => subAgents?.find(agent ?? "")?.tasks,
    drain: async (withinMs) => subAgents?.drain(withinMs),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([mcp?.close(), subAgents?.close()]);
    },
  };
}

/**
 * Names that belong to the agent's own tools and sub-agents, which take precedence over MCP tools.
 */
function toolNames({ tools = [], subAgents = {} }: LoopDefinition): ReadonlySet<string> {
  return new Set([...tools.map(({ name }) => name), ...Object.keys(subAgents)]);
}

/** The extensions on the card: those that the author declared, and those that the loop supports. */
function declaredExtensions(
  given: readonly AgentExtension[] = [],
  definition: LoopDefinition,
): readonly AgentExtension[] {
  const names: ExtensionName[] = ["budget", "runReport"];
  if (definition.toolActivity !== false) names.push("toolActivity");
  if (mayAsk(definition)) names.push("approvals");
  if (definition.clientTools !== false) names.push("clientTools");
  const own = names.map((name) => EXTENSIONS[name]);
  // The author's own declaration takes precedence.
  const unnamed = own.filter(({ uri }) => !given.some((extension) => extension.uri === uri));
  return [
    ...given,
    ...unnamed.map(({ uri, description }) => ({ uri, description, required: false })),
  ];
}

/** Whether a call may need approval. */
function mayAsk({ tools = [], mcpServers = {}, subAgents = {} }: LoopDefinition): boolean {
  // The tools of a server are not known before it runs.
  const hasServers = mcpServers instanceof McpServers || Object.keys(mcpServers).length > 0;
  const hasSubAgents = Object.keys(subAgents).length > 0;
  return hasServers || hasSubAgents || tools.some(({ confirm }) => confirm !== "never");
}

/**
 * The agent info with the skills of its MCP servers, which come and go. Returns the same object
 * until they change, because servers read it constantly.
 *
 * @param isShown whether the card may list the skill of this id
 */
function infoWithSkills(
  own: AgentInfo,
  offered: () => readonly AgentSkill[],
  isShown: (id: string) => boolean,
): () => AgentInfo {
  const ids = new Set(own.skills.map(({ id }) => id));
  let seen: readonly AgentSkill[] = [];
  let info = own;
  return () => {
    const skills = offered();
    if (skills === seen) return info;
    seen = skills;
    const more = skills.filter(({ id }) => !ids.has(id) && isShown(id));
    info = more.length === 0 ? own : { ...own, skills: [...own.skills, ...more] };
    return info;
  };
}
