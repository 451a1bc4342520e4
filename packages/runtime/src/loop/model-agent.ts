import type { Agent, AgentInfo } from "@convoke/protocol";
import { acceptAnswer } from "../approvals/accept-answer.ts";
import { infoWithSkills } from "../mcp/info-with-skills.ts";
import { declaredExtensions } from "./declared-extensions.ts";
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
      // Last, because it starts processes, and nobody would end those of an agent that is not served.
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
