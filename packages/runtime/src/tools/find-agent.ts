import type { AgentQuery, Auth, FoundAgents, ListedAgent } from "@convoke/client";
import { EgressError } from "@convoke/egress";
import { ClientError, type Metadata, RemoteError } from "@convoke/protocol";
import { type OptionNames, checkOptions } from "./check-options.ts";
import { REMOTE_NOTICE } from "./tool-output.ts";
import { type Tool, tool } from "./tool.ts";

/** A server whose list of agents is searched. */
export interface AgentHost {
  /** Its base URL. It may be anywhere, because it comes from you. */
  readonly url: string;
  /** A bearer token, sent only to the host. Short for `auth: { bearer }`. Default none: the list is public. */
  readonly token?: string;
  /** Any other credentials of the host. */
  readonly auth?: Auth;
  /**
   * Non-public destinations where agents of its list may be: `host`, `host:port`, an address or a
   * range. Default none, because these addresses come from the network.
   */
  readonly allow?: readonly string[];
}

/** Where a model finds agents. */
export interface FindAgentOptions {
  /** The hosts whose lists are searched, 1 to 20. A text is the base URL. */
  readonly hosts: readonly (string | AgentHost)[];
  /**
   * Agents that it must not find, by id, name or URL, such as the agent that has the tool. Default
   * none.
   */
  readonly exclude?: readonly string[];
}

const OPTIONS: OptionNames<FindAgentOptions> = { hosts: true, exclude: true };

const HOST_OPTIONS: OptionNames<AgentHost> = { url: true, token: true, auth: true, allow: true };

const MAX_HOSTS = 20;

/** How many agents the model gets: enough for a choice, and few enough for its context. */
const MAX_SHOWN = 10;

const MAX_SKILLS_SHOWN = 20;

/**
 * A tool `find_agent` with which a model searches the agents that hosts list, by skill, tags and
 * words. A host that cannot be reached does not keep it from finding the agents of the others.
 *
 * @example
 * const tools = [findAgentTool({ hosts: ["https://agents.example.com"] })];
 */
export function findAgentTool(options: FindAgentOptions): Tool {
  checkOptions(options, OPTIONS, "findAgentTool");
  const hosts = checkedHosts(options.hosts);
  const excluded = new Set((options.exclude ?? []).map(spelled));
  const isExcluded = ({ id, name, url }: ListedAgent): boolean =>
    [id, name, url].some((one) => excluded.has(spelled(one)));
  return tool({
    name: "find_agent",
    description: "Finds A2A agents that can do something. Everything that you give must match.",
    inputSchema: INPUT,
    callsAgents: true,
    idempotent: true,
    run: async (input, { signal }) => {
      // Loaded when it is needed, because most agents never search.
      const { findAgents } = await import("@convoke/client");
      const searches = hosts.map(async ({ url, ...reach }): Promise<Search> => {
        try {
          return await findAgents(url, input as AgentQuery, {
            ...reach,
            signal,
            timeoutMs: HOST_MS,
          });
        } catch (error) {
          signal.throwIfAborted();
          return { agents: [], unreadable: [{ url, error }] };
        }
      });
      const results = await Promise.all(searches);
      const found = new Map(
        results.flatMap(({ agents }) => agents).map((agent) => [spelled(agent.url), agent]),
      );
      const agents = [...found.values()].filter((agent) => !isExcluded(agent));
      const problems = results.flatMap(({ unreadable }) => unreadable).map(toProblem);
      return { kind: "tool:result", value: toValue(agents, problems) };
    },
  });
}

/** Less than a call may take, so that a host that does not answer costs its own agents only. */
const HOST_MS = 20_000;

type Search = Pick<FoundAgents, "agents"> & {
  readonly unreadable: readonly { readonly url: string; readonly error: unknown }[];
};

const INPUT = {
  type: "object",
  properties: {
    skill: { type: "string", description: "The id or name of a skill." },
    tags: { type: "array", items: { type: "string" }, description: "Tags that it must have." },
    text: { type: "string", description: "Words that its description must contain." },
  },
} as const;

function checkedHosts(hosts: unknown): readonly AgentHost[] {
  if (!Array.isArray(hosts) || hosts.length === 0 || hosts.length > MAX_HOSTS) {
    throw new TypeError(
      `findAgentTool: hosts must be a list of 1 to ${MAX_HOSTS} servers, as in hosts: ["https://agents.example.com"]`,
    );
  }
  return hosts.map((given: string | AgentHost) => {
    const host = typeof given === "string" ? { url: given } : { ...given };
    checkOptions(host, HOST_OPTIONS, "findAgentTool: a host");
    if (URL.canParse(host.url) && /^https?:$/.test(new URL(host.url).protocol)) return host;
    throw new TypeError(
      `findAgentTool: a host must be the http or https URL of a server, not ${JSON.stringify(host.url)}`,
    );
  });
}

/** The URL of an agent may end in a slash or not. */
function spelled(name: string): string {
  return name.replace(/\/+$/, "");
}

/** Says why an agent or a host could not be searched, without names and addresses of this network. */
function toProblem({ url, error }: { readonly url: string; readonly error: unknown }): string {
  if (error instanceof EgressError && error.revealsNames) {
    return `could not reach ${url}: its name does not exist, or its address is not public`;
  }
  if (error instanceof ClientError || error instanceof RemoteError) return error.message;
  throw error;
}

function toValue(agents: readonly ListedAgent[], problems: readonly string[]): Metadata {
  const more = agents.length - MAX_SHOWN;
  return {
    notice: REMOTE_NOTICE,
    agents: agents.slice(0, MAX_SHOWN).map(({ name, url, description, skills }) => ({
      name,
      url,
      description,
      skills: skills
        .slice(0, MAX_SKILLS_SHOWN)
        .map(({ id, description: about, tags }) => ({ id, description: about, tags })),
    })),
    ...(more > 0 && { more: `${more} more agents match: give more tags or words` }),
    ...(problems.length > 0 && { problems: problems.slice(0, MAX_SHOWN) }),
  };
}
