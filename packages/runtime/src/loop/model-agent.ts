import {
  type Agent,
  type AgentExtension,
  type AgentInfo,
  type AgentSkill,
  EXTENSIONS,
  type ExtensionName,
} from "@convoke/protocol";
import { acceptAnswer } from "../approvals/accept-answer.ts";
import { runLoop } from "./loop-run.ts";
import { type LoopDefinition, loopSettings } from "../run/loop-settings.ts";
import { McpServers } from "../mcp/mcp-servers.ts";

/** Makes an agent of a model and tools. */
export function modelAgent(info: AgentInfo, definition: LoopDefinition): Agent {
  if (info.takesMessages) {
    throw new TypeError(
      "an agent with a model takes no messages while it works: leave takesMessages out",
    );
  }
  const settings = loopSettings(info.name, definition);
  const { mcp, subAgents, identity } = settings;
  const own: AgentInfo = {
    ...info,
    // Before its first note the loop has done nothing, so that it can always begin again.
    restart: true,
    extensions: declaredExtensions(info.extensions, definition),
  };
  const shown = mcp && infoWithSkills(own, () => mcp.skills(), toolNames(definition));
  return {
    get info() {
      return shown?.() ?? own;
    },
    run: (turn) => runLoop(turn, settings),
    accept: (task, message, at) => acceptAnswer(task, message, { now: at }),
    prepare: (place) => {
      identity.prepare(place);
      subAgents?.prepare(place);
      // Last, because it starts processes: if a step above throws, nothing would end them.
      mcp?.prepare(place);
    },
    abandon: (_task, journal) => subAgents?.abandon(journal),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([mcp?.close(), subAgents?.close()]);
    },
  };
}

/** Names for which the model gets something else than the tool of a server. */
function toolNames({ tools = [], subAgents = {} }: LoopDefinition): ReadonlySet<string> {
  return new Set([...tools.map(({ name }) => name), ...Object.keys(subAgents)]);
}

/** What the card of an agent with a model declares: what its author named, and what the loop does. */
function declaredExtensions(
  given: readonly AgentExtension[] = [],
  definition: LoopDefinition,
): readonly AgentExtension[] {
  const names: ExtensionName[] = ["budget"];
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
  // Which tools a server has is not known before it runs.
  const hasServers = mcpServers instanceof McpServers || Object.keys(mcpServers).length > 0;
  const hasSubAgents = Object.keys(subAgents).length > 0;
  return hasServers || hasSubAgents || tools.some(({ confirm }) => confirm !== "never");
}

/**
 * What the card says of an agent while the tools of its servers come and go. It is
 * the same object until they change, because servers look at it all the time.
 *
 * @param taken names that are something else's, which is what the agent then has
 */
function infoWithSkills(
  own: AgentInfo,
  offered: () => readonly AgentSkill[],
  taken: ReadonlySet<string>,
): () => AgentInfo {
  const ids = new Set([...own.skills.map(({ id }) => id), ...taken]);
  let seen: readonly AgentSkill[] = [];
  let info = own;
  return () => {
    const skills = offered();
    if (skills === seen) return info;
    seen = skills;
    const more = skills.filter(({ id }) => !ids.has(id));
    info = more.length === 0 ? own : { ...own, skills: [...own.skills, ...more] };
    return info;
  };
}
