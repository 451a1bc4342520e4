import {
  type CapabilityQuery,
  ClientError,
  type RegistryEntry,
  RemoteError,
} from "@convoke/protocol";
import { isObject, jsonOrText, timeoutSignal } from "@convoke/protocol/internal";
import { readText } from "@convoke/egress/http";
import { AgentHttp } from "../auth/agent-http.ts";
import { AgentDiscovery, type DiscoverOptions } from "../cards/discovery.ts";
import { parseRegistryEntry } from "./registry-entry.ts";

/** How to reach a registry. Credentials are sent only to its origin. */
export type SearchRegistryOptions = Pick<
  DiscoverOptions,
  "token" | "auth" | "certificate" | "fetch" | "timeoutMs" | "signal"
>;

const TIMEOUT_MS = 30_000;

/** A page of 100 entries, each of at most some 32 kB. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** A registry has 1000 entries by default. */
const MAX_PAGES = 50;

/**
 * Finds agents in the registry of a Convoke server.
 *
 * @param url The base URL of the server.
 * @example
 * const entries = await searchRegistry("https://agents.example.com", { skill: "translate" }, { token });
 * const { ranked } = routeToAgent({}, entries);
 */
export async function searchRegistry(
  url: string,
  { skill, tags = [], text }: CapabilityQuery,
  options: SearchRegistryOptions = {},
): Promise<readonly RegistryEntry[]> {
  const { client, credentials } = new AgentDiscovery(url, options);
  const http = new AgentHttp({ client, version: "1.0", credentials });
  const page = new URL(`${url.replace(/\/+$/, "")}/convoke/registry`);
  page.searchParams.set("pageSize", "100");
  if (skill !== undefined) page.searchParams.set("skill", skill);
  for (const tag of tags) page.searchParams.append("tag", tag);
  if (text !== undefined) page.searchParams.set("text", text);
  const entries: RegistryEntry[] = [];
  try {
    for (let read = 0; read < MAX_PAGES; read++) {
      const { agents, nextPageToken } = await readPage(http, page.href, options);
      entries.push(...agents.flatMap((entry) => parseRegistryEntry(entry) ?? []));
      if (nextPageToken === undefined) break;
      page.searchParams.set("pageToken", nextPageToken);
    }
    return entries;
  } finally {
    client.close();
  }
}

interface RegistryPage {
  readonly agents: readonly unknown[];
  readonly nextPageToken?: string;
}

async function readPage(
  http: AgentHttp,
  url: string,
  { timeoutMs = TIMEOUT_MS, signal }: SearchRegistryOptions,
): Promise<RegistryPage> {
  const timeout = timeoutSignal(timeoutMs);
  const stop = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  const { origin } = new URL(url);
  try {
    const answer = await http.request({
      url,
      headers: { Accept: "application/json" },
      signal: stop,
    });
    const body = jsonOrText(await readText(answer, stop, MAX_PAGE_BYTES));
    if (answer.status === 404) {
      throw new ClientError("unsupported", `the server at ${origin} has no registry`);
    }
    if (answer.status !== 200) {
      const problem = `the registry at ${origin} answered with HTTP ${answer.status}`;
      throw new RemoteError(problem, { httpStatus: answer.status });
    }
    if (!isObject(body) || !Array.isArray(body["agents"])) {
      throw new ClientError("unreadable", `the registry at ${origin} sent no list of agents`);
    }
    const { agents, nextPageToken } = body;
    return { agents, ...(typeof nextPageToken === "string" && { nextPageToken }) };
  } catch (error) {
    if (!timeout.aborted || signal?.aborted === true) throw error;
    throw new ClientError("unreachable", `${origin} did not answer within ${timeoutMs} ms`);
  }
}
