import { type AgentSkill, ClientError, RemoteError } from "@convoke/protocol";
import {
  type PageRequest,
  isObject,
  jsonOrText,
  readPages,
  timeoutSignal,
} from "@convoke/protocol/internal";
import { readText } from "@convoke/egress/http";
import { AgentHttp } from "../auth/agent-http.ts";
import { AgentDiscovery, type DiscoverOptions, checkAtLeast, discover } from "./discovery.ts";

/** What an agent must be able to do. Everything that is given must match. Case does not matter. */
export interface AgentQuery {
  /** The id or the name of a skill. */
  readonly skill?: string | undefined;
  /** Each must be a tag of one of its skills. */
  readonly tags?: readonly string[] | undefined;
  /** Each word must occur in its id, name or description, or in its skills. */
  readonly text?: string | undefined;
}

/** What is searched of a skill. */
type ListedSkill = Pick<AgentSkill, "id" | "name" | "description" | "tags">;

/**
 * An agent that a host lists. Its address and its texts come from the network: call it with
 * `connect(url, { trusted: false })`, and show the texts to a model as data only.
 */
export interface ListedAgent {
  readonly id: string;
  readonly url: string;
  /** Absent if the list does not say where its card is; then it is at the usual places below `url`. */
  readonly cardUrl?: string;
  readonly name: string;
  readonly description: string;
  readonly skills: readonly ListedSkill[];
}

/** The agents of a host that match a query. */
export interface FoundAgents {
  /** In the order of the list. */
  readonly agents: readonly ListedAgent[];
  /** Agents whose skills are not in the list and whose cards could not be read. */
  readonly unreadable: readonly { readonly url: string; readonly error: Error }[];
}

/** How to reach a host. Credentials are sent to its origin only. */
export interface FindAgentsOptions extends Pick<
  DiscoverOptions,
  "token" | "auth" | "certificate" | "fetch" | "signal"
> {
  /**
   * Non-public destinations where listed agents may be: `host`, `host:port`, an address or a range.
   * The origin of the host is always allowed; by default nothing else is.
   */
  readonly allow?: readonly string[] | undefined;
  /** Time limit for the whole search, in milliseconds; default 30 s. */
  readonly timeoutMs?: number | undefined;
}

const TIMEOUT_MS = 30_000;

/** A page of 100 agents with all of their skills. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** Bounds what a hostile host can make the search keep in memory. */
const MAX_PAGES = 20;

/** The cards of agents at other addresses cost a request each. */
const MAX_CARDS = 100;

const CONCURRENT_CARDS = 8;

/**
 * Searches the agents that a host lists at `/.well-known/agents.json`, by skill, tag and words. Of
 * agents whose skills are not in the list, because they are at other addresses, it reads the cards.
 *
 * @param host The base URL of the host.
 * @example
 * const { agents } = await findAgents("https://agents.example.com", { skill: "translate" });
 * for (const { name, url } of agents) console.log(name, url);
 */
export async function findAgents(
  host: string,
  query: AgentQuery = {},
  options: FindAgentsOptions = {},
): Promise<FoundAgents> {
  const { signal, timeoutMs = TIMEOUT_MS } = options;
  checkAtLeast("timeoutMs", timeoutMs, 1);
  const timeout = timeoutSignal(timeoutMs);
  const stop = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  const late = (who: string, error: unknown): unknown =>
    timeout.aborted && signal?.aborted !== true
      ? new ClientError("unreachable", `${who} did not answer within ${timeoutMs} ms`)
      : error;
  const bounded = { ...options, signal: stop };
  const discovery = new AgentDiscovery(host, bounded);
  const entries = await readEntries(discovery, host, stop).catch((error: unknown) => {
    throw late(`the server at ${new URL(host).origin}`, error);
  });
  const unreadable: FoundAgents["unreadable"][number][] = [];
  const cards = new Cards(host, bounded);
  const agents = await mapConcurrently(entries, CONCURRENT_CARDS, async (entry) => {
    if (entry.skills !== undefined) return completed(entry, {});
    try {
      return completed(entry, await cards.read(entry.cardUrl ?? entry.url));
    } catch (error) {
      signal?.throwIfAborted();
      const problem = late(`the agent at ${entry.url}`, error);
      // Only what says why an agent cannot be reached: anything else is a defect of this program.
      if (!(problem instanceof ClientError || problem instanceof RemoteError)) throw problem;
      unreadable.push({ url: entry.url, error: problem });
      return completed(entry, {});
    }
  });
  return { agents: agents.filter((agent) => matches(agent, query)), unreadable };
}

/** An entry of a list. Skills are absent if the list does not say which there are. */
type Entry = Pick<ListedAgent, "id" | "url"> & Partial<ListedAgent>;

/** All pages of the list of a host. */
async function readEntries(
  { client, credentials }: AgentDiscovery,
  host: string,
  signal: AbortSignal,
): Promise<readonly Entry[]> {
  const http = new AgentHttp({ client, version: "1.0", credentials });
  const page = listUrl(host);
  const tooMany = (pages: number) =>
    new ClientError(
      "unreadable",
      `the server at ${page.origin} lists its agents on more than ${pages} pages`,
    );
  const entries: Entry[] = [];
  try {
    const read = ({ pageToken }: PageRequest) => {
      if (pageToken !== undefined) page.searchParams.set("pageToken", pageToken);
      return readPage(http, page.href, signal);
    };
    for await (const { agents } of readPages(read, { maxPages: MAX_PAGES, tooMany })) {
      entries.push(...agents.flatMap((entry) => parseEntry(entry) ?? []));
    }
    return entries;
  } finally {
    client.close();
  }
}

function listUrl(host: string): URL {
  const { origin, pathname } = new URL(host);
  const isList = pathname.endsWith(".json");
  return new URL(
    isList
      ? `${origin}${pathname}`
      : `${origin}${pathname.replace(/\/+$/, "")}/.well-known/agents.json`,
  );
}

interface Page {
  readonly agents: readonly unknown[];
  readonly nextPageToken: unknown;
}

async function readPage(http: AgentHttp, url: string, signal: AbortSignal): Promise<Page> {
  const { origin } = new URL(url);
  const answer = await http.request({ url, headers: { Accept: "application/json" }, signal });
  const body = jsonOrText(await readText(answer, signal, MAX_PAGE_BYTES));
  if (answer.status === 404) {
    throw new ClientError(
      "unsupported",
      `the server at ${origin} lists no agents: there is nothing at ${url}`,
    );
  }
  if (answer.status !== 200) {
    const problem = `the server at ${origin} answered with HTTP ${answer.status} instead of its list of agents`;
    throw new RemoteError(problem, { httpStatus: answer.status });
  }
  if (!isObject(body) || !Array.isArray(body["agents"])) {
    throw new ClientError(
      "unreadable",
      `the answer of the server at ${origin} is no list of agents`,
    );
  }
  return { agents: body["agents"], nextPageToken: body["nextPageToken"] };
}

/** Reads the cards of listed agents. */
class Cards {
  readonly #host: URL;
  readonly #options: FindAgentsOptions;
  #read = 0;

  constructor(host: string, options: FindAgentsOptions) {
    this.#host = new URL(host);
    this.#options = options;
  }

  /** The URL comes from the network, so it may lead to the host itself and to public addresses only. */
  async read(url: string): Promise<Readonly<Record<string, unknown>>> {
    if (++this.#read > MAX_CARDS) {
      const problem = `the card at ${url} was not read: a search reads ${MAX_CARDS} cards`;
      throw new ClientError("refused", problem);
    }
    const { token, auth, certificate, ...others } = this.#options;
    const isOfHost = new URL(url).origin === this.#host.origin;
    const own = isOfHost ? { token, auth, certificate } : {};
    const { card } = await discover(url, { ...others, ...own, trusted: isOfHost });
    return card;
  }
}

/** Maps a list, with at most so many at the same time. */
async function mapConcurrently<Given, Result>(
  given: readonly Given[],
  concurrency: number,
  map: (one: Given) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const queue = given.entries();
  const work = async (): Promise<void> => {
    for (const [index, one] of queue) results[index] = await map(one);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return results;
}

/** Texts of strangers are shortened, so that a list cannot fill the memory. */
const MAX_NAME = 200;

const MAX_DESCRIPTION = 1000;

const MAX_SKILLS = 200;

const MAX_TAGS = 50;

/** Fields of another type count as absent. Returns `undefined` for what is no agent at an http address. */
function parseEntry(value: unknown): Entry | undefined {
  if (!isObject(value)) return undefined;
  const { id, url, cardUrl, name, description, skills } = value;
  if (typeof id !== "string" || !isHttp(url)) return undefined;
  return {
    id: shortened(id, MAX_NAME),
    url,
    ...(isHttp(cardUrl) && { cardUrl }),
    ...(typeof name === "string" && { name: shortened(name, MAX_NAME) }),
    ...(typeof description === "string" && {
      description: shortened(description, MAX_DESCRIPTION),
    }),
    ...(Array.isArray(skills) && { skills: parseSkills(skills) }),
  };
}

function isHttp(text: unknown): text is string {
  const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.password === "";
}

/** What the list says comes before what the card says. */
function completed(entry: Entry, card: Readonly<Record<string, unknown>>): ListedAgent {
  const { id } = entry;
  return {
    ...entry,
    name: entry.name ?? (textOf(card["name"], MAX_NAME) || id),
    description: entry.description ?? textOf(card["description"], MAX_DESCRIPTION),
    skills: entry.skills ?? parseSkills(card["skills"]),
  };
}

function parseSkills(given: unknown): readonly ListedSkill[] {
  if (!Array.isArray(given)) return [];
  return given.slice(0, MAX_SKILLS).flatMap((skill): readonly ListedSkill[] => {
    if (!isObject(skill) || typeof skill["id"] !== "string") return [];
    const id = shortened(skill["id"], MAX_NAME);
    const tags: readonly unknown[] = Array.isArray(skill["tags"]) ? skill["tags"] : [];
    return [
      {
        id,
        name: textOf(skill["name"], MAX_NAME) || id,
        description: textOf(skill["description"], MAX_DESCRIPTION),
        tags: tags.slice(0, MAX_TAGS).flatMap((tag) => textOf(tag, MAX_NAME) || []),
      },
    ];
  });
}

function textOf(value: unknown, maxLength: number): string {
  return typeof value === "string" ? shortened(value, maxLength) : "";
}

function shortened(text: string, maxLength: number): string {
  return text.slice(0, maxLength).toWellFormed();
}

function matches(agent: ListedAgent, { skill, tags = [], text = "" }: AgentQuery): boolean {
  const { id, name, description, skills } = agent;
  const own = skills.flatMap((one) => one.tags);
  const described = [
    id,
    name,
    description,
    ...own,
    ...skills.flatMap((one) => [one.id, one.name, one.description]),
  ].map(folded);
  const words = folded(text).split(/\s+/);
  return (
    (skill === undefined || skills.some((one) => same(one.id, skill) || same(one.name, skill))) &&
    tags.every((tag) => own.some((one) => same(one, tag))) &&
    words.every((word) => described.some((one) => one.includes(word)))
  );
}

function same(one: string, other: string): boolean {
  return folded(one) === folded(other);
}

function folded(text: string): string {
  return text.trim().toLowerCase();
}
