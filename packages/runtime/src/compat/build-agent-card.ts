import { packageVersion } from "@convoke/engine/version";
import type { A2AAgentCard } from "@convoke/client/compat";
import { type AgentInfo, type AgentTool, readA2AEnvironment } from "@convoke/protocol";
import { agentIdFrom } from "@convoke/protocol/internal";
import { describeCharacter } from "../agents/persona.ts";
import {
  type RegisteredAgent,
  registeredAgents,
  registeredTools,
} from "../agents/registered-agents.ts";
import { toSkill } from "./tool-skills.ts";

/** An agent as a database of agents describes it. */
export interface A2AAgentRecord {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  /** The tools that it may use. An empty list means none; `null`, the default, all that are registered. */
  readonly mcpToolPermissions?: readonly string[] | null;
}

/** What a database knows about an agent in addition, for its card. */
export interface A2ACardDatabase {
  /** The archetype "custom" says nothing, and is left out. */
  getPersona?(agentId: string): { readonly archetype?: string | null } | null | undefined;
  getAgentBundles?(agentId: string): readonly { readonly name: string }[];
}

/**
 * The card of this instance, with the tools of all registered agents as skills.
 *
 * @param baseUrl default: `PUBLIC_URL`, or `http://BIND_HOST:PORT`
 */
export function buildAgentCard(baseUrl?: string): A2AAgentCard {
  const [first] = registeredAgents();
  const info = first?.info ?? {
    name: "Convoke",
    description: "Hosts agents that can be called via A2A.",
    version: packageVersion(),
  };
  return cardFrom({ info, description: info.description, tools: registeredTools(), baseUrl });
}

/**
 * The card of one agent: what `defineAgent` made, or a record of a database. Its skills are the tools
 * that it may use. The persona and the skill bundles that `db` has are added to its description.
 *
 * @param baseUrl default: `PUBLIC_URL`, or `http://BIND_HOST:PORT`
 */
export function buildAgentCardForAgent(
  agent: RegisteredAgent | A2AAgentRecord,
  baseUrl?: string,
  db?: A2ACardDatabase,
): A2AAgentCard {
  const { id, info, tools } = factsOf(agent);
  const { archetype = null } = db?.getPersona?.(id) ?? {};
  const bundles = (db?.getAgentBundles?.(id) ?? []).map(({ name }) => name);
  const description = describeCharacter(info.description, { archetype, bundles });
  return cardFrom({ info, description, tools, baseUrl });
}

/** The fields of the card that an agent decides. */
type CardInfo = Pick<AgentInfo, "name" | "description" | "version"> & Partial<AgentInfo>;

function factsOf(agent: RegisteredAgent | A2AAgentRecord): {
  readonly id: string;
  readonly info: CardInfo;
  readonly tools: readonly AgentTool[];
} {
  if ("info" in agent) {
    const { info } = agent;
    return { id: agent.id ?? agentIdFrom(info.name), info, tools: agent.tools?.() ?? [] };
  }
  const { id, name, description = name } = agent;
  return {
    id,
    info: { name, description, version: packageVersion() },
    tools: permittedTools(agent),
  };
}

/** The registered tools that an agent of a database may use. */
export function permittedTools({
  mcpToolPermissions: permissions,
}: Pick<A2AAgentRecord, "mcpToolPermissions">): readonly AgentTool[] {
  const tools = registeredTools();
  return permissions ? tools.filter(({ name }) => permissions.includes(name)) : tools;
}

interface CardFacts {
  readonly info: CardInfo;
  readonly description: string;
  readonly tools: readonly AgentTool[];
  readonly baseUrl: string | undefined;
}

const MODES = ["text/plain", "application/json"];

/** A card of the polling protocol, which neither streams nor pushes: it claims neither. */
function cardFrom({ info, description, tools, baseUrl }: CardFacts): A2AAgentCard {
  const { env } = process;
  const { provider, documentationUrl } = { ...readA2AEnvironment(env), ...definedIn(info) };
  const url = (baseUrl ?? ownUrl(env)).replace(/\/+$/, "");
  const { name, version, iconUrl, inputModes = MODES, outputModes = MODES } = info;
  return {
    name,
    description,
    url,
    version,
    ...(provider && { provider }),
    ...(documentationUrl !== undefined && { documentationUrl }),
    ...(iconUrl !== undefined && { iconUrl }),
    capabilities: { streaming: false, pushNotifications: false, stateTransitionHistory: false },
    ...(AUTH_VARIABLES.some((variable) => env[variable]) && {
      authentication: { schemes: ["Bearer"] },
    }),
    defaultInputModes: inputModes,
    defaultOutputModes: outputModes,
    skills: tools.map(toSkill),
    supportedProtocols: [
      {
        protocol: "A2A",
        description: "POST a task, then poll it.",
        endpoint: `${url}/a2a/tasks/send`,
      },
    ],
  };
}

/** What an agent says about itself takes precedence over the environment. */
function definedIn({
  provider,
  documentationUrl,
}: CardInfo): Pick<AgentInfo, "provider" | "documentationUrl"> {
  return { ...(provider && { provider }), ...(documentationUrl && { documentationUrl }) };
}

/** The variables that make a server ask for a token. */
const AUTH_VARIABLES = ["CONVOKE_TOKEN", "CONVOKE_API_KEYS", "CONVOKE_JWT_ISSUER"];

function ownUrl(env: NodeJS.ProcessEnv): string {
  const { PUBLIC_URL: publicUrl, BIND_HOST: host = "127.0.0.1", PORT: port = "" } = env;
  if (publicUrl && URL.canParse(publicUrl)) return publicUrl;
  const name = host.includes(":") ? `[${host}]` : host || "127.0.0.1";
  return `http://${name}:${/^\d+$/.test(port) ? port : "3000"}`;
}
