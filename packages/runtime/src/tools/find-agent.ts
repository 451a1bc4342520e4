import type { Auth, CapabilityQuery, Route } from "@convoke/client";
import type { Metadata } from "@convoke/protocol";
import { REMOTE_NOTICE } from "./tool-output.ts";
import { type Tool, tool } from "./tool.ts";

/** Where a model finds agents. */
export interface FindAgentOptions {
  /** The URL of a Convoke server with a registry. */
  readonly registry: string;
  /** A bearer token, sent only to the registry. Short for `auth: { bearer }`. */
  readonly token?: string;
  /** Any other credentials of the registry. */
  readonly auth?: Auth;
  /** The URL of the agent that has the tool, so that it does not find itself. */
  readonly self?: string;
  /** Agents that it must not find, by id, name or URL. */
  readonly exclude?: readonly string[];
}

/** How many agents the model gets: enough for a choice, and few enough for its context. */
const MAX_SHOWN = 5;

/**
 * A tool `find_agent` with which a model finds agents in a registry by skill, tags or words, the best
 * first, with the reasons.
 *
 * @example
 * const tools = [findAgentTool({ registry: "https://agents.example.com", token })];
 */
export function findAgentTool(options: FindAgentOptions): Tool {
  const { registry, token, auth, self, exclude } = options;
  if (!URL.canParse(registry)) {
    throw new TypeError(`registry must be the URL of a server, not ${JSON.stringify(registry)}`);
  }
  return tool({
    name: "find_agent",
    description:
      "Finds A2A agents that can do something, the best first. Everything that you give must match.",
    inputSchema: INPUT,
    callsAgents: true,
    idempotent: true,
    run: async (input, { signal }) => {
      const query = input as CapabilityQuery;
      // Loaded when it is needed, because most agents never search.
      const { routeToAgent, searchRegistry } = await import("@convoke/client");
      const entries = await searchRegistry(registry, query, { token, auth, signal });
      const route = routeToAgent({ ...query, self, exclude }, entries);
      return { kind: "tool:result", value: toValue(route) };
    },
  });
}

const INPUT = {
  type: "object",
  properties: {
    skill: { type: "string", description: "The id or name of a skill." },
    tags: { type: "array", items: { type: "string" }, description: "Tags that it must have." },
    text: { type: "string", description: "Words that its description must contain." },
  },
} as const;

function toValue({ ranked, excluded }: Route): Metadata {
  return {
    notice: REMOTE_NOTICE,
    agents: ranked.slice(0, MAX_SHOWN).map(({ agent, score, factors }) => ({
      name: agent.name,
      url: agent.url,
      description: agent.description,
      skills: agent.skills.map(({ id, description }) => ({ id, description })),
      score: Math.round(score),
      reasons: factors.map(({ reason }) => reason),
    })),
    excluded: excluded.slice(0, MAX_SHOWN).map(({ agent, reason }) => ({
      name: agent.name,
      reason,
    })),
  };
}
