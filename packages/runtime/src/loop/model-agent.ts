import {
  type Agent,
  type AgentExtension,
  type AgentInfo,
  type AgentPlace,
  EXTENSIONS,
} from "@convoke/protocol";
import { acceptAnswer } from "../approvals/accept-answer.ts";
import { McpServers } from "../mcp/mcp-servers.ts";
import { runLoop } from "./loop-run.ts";
import { type LoopDefinition, loopSettings } from "./loop-settings.ts";

/** Makes an agent of a model and tools. */
export function modelAgent(info: AgentInfo, definition: LoopDefinition): Agent {
  if (info.takesMessages) {
    throw new TypeError(
      "an agent with a model takes no messages while it works: leave takesMessages out",
    );
  }
  const settings = loopSettings(info.name, definition);
  const { mcp } = settings;
  const extensions = declared(info.extensions, definition);
  return {
    info: {
      ...info,
      // Before its first note the loop has done nothing, so that it can always begin again.
      restart: true,
      ...(extensions.length > 0 && { extensions }),
    },
    run: (turn) => runLoop(turn, settings),
    accept: (task, message, at) => acceptAnswer(task, message, { now: at }),
    ...(mcp && {
      prepare: (place: AgentPlace) => mcp.prepare(place),
      [Symbol.asyncDispose]: () => mcp.close(),
    }),
  };
}

/** What the card declares: an agent that may ask for approvals says so, in the words of its author if there are some. */
function declared(
  extensions: readonly AgentExtension[] = [],
  { tools = [], mcpServers = {} }: Pick<LoopDefinition, "tools" | "mcpServers">,
): readonly AgentExtension[] {
  const { uri, description } = EXTENSIONS.approvals;
  // Which tools a server has is not known before it runs.
  const hasServers = mcpServers instanceof McpServers || Object.keys(mcpServers).length > 0;
  const isGuarded = hasServers || tools.some(({ confirm }) => confirm !== "never");
  const isNamed = extensions.some((extension) => extension.uri === uri);
  return isGuarded && !isNamed
    ? [...extensions, { uri, description, required: false }]
    : extensions;
}
