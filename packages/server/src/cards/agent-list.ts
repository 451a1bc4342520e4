import { type AgentSkill, invalidParams } from "@convoke/protocol";
import { checkAgentId } from "@convoke/protocol/internal";
import { type HttpRequest, type HttpResponse, jsonResponse } from "../http/exchange.ts";
import { CARD_PATH } from "./card-binding.ts";

/** An agent at another address, which a host lists and does not serve. */
export interface RemoteEntry {
  /** Its base URL, or that of its card. It is public, so it must not contain credentials. */
  readonly url: string;
  /** Default: that of its card, for callers who read the card. */
  readonly name?: string;
  /** Default: that of its card, for callers who read the card. */
  readonly description?: string;
}

/** Agents at other addresses by their ids. A text is the URL. */
export type RemoteEntries = Readonly<Record<string, string | RemoteEntry>>;

const FIELDS = ["url", "name", "description"];

/** An agent at another address, with its id. */
export interface RemoteAgentEntry extends RemoteEntry {
  readonly id: string;
}

/**
 * Checks the agents at other addresses. Throws a `TypeError` that names the wrong one, so that a
 * mistake shows at the start and not in the list.
 *
 * @param place what contains them, for the error
 */
export function resolveRemoteEntries(
  entries: RemoteEntries,
  place: string,
): readonly RemoteAgentEntry[] {
  return Object.entries(entries).map(([id, given]) => {
    const entry = typeof given === "string" ? { url: given } : { ...given };
    try {
      checkAgentId(id);
      return { ...checkedEntry(entry), id };
    } catch (error) {
      if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
      throw new TypeError(`${place}.${id}: ${error.message}`, { cause: error });
    }
  });
}

function checkedEntry(entry: Readonly<Record<string, unknown>>): RemoteEntry {
  const { url, name, description } = entry;
  const unknown = Object.keys(entry).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) {
    throw new TypeError(
      `an agent at a URL is listed and not called, so it has no field ${JSON.stringify(unknown)}; it has ${FIELDS.join(", ")}`,
    );
  }
  if (typeof url !== "string" || !isPublicForm(url)) {
    throw new TypeError(
      'url must be an http or https address as in "https://agents.example.com/poet", without a user, a password or a query, because everybody can read the list',
    );
  }
  for (const [field, value] of Object.entries({ name, description })) {
    if (value !== undefined && typeof value !== "string")
      throw new TypeError(`${field} must be a text`);
  }
  return entry as unknown as RemoteEntry;
}

function isPublicForm(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return false;
  return url.username + url.password + url.search + url.hash === "";
}

/** An agent that this server runs. */
interface OwnEntry {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly skills: readonly AgentSkill[];
  readonly isEnabled: boolean;
}

interface AgentList {
  /** The address of the server, without a slash at its end. */
  readonly base: string;
  /** The id of the agent at the root. */
  readonly root: string;
  readonly own: readonly OwnEntry[];
  readonly remote: readonly RemoteAgentEntry[];
}

/** A client that knows nothing of pages sees all agents of an ordinary host. */
const PAGE = 100;

/**
 * One page of the agents of a host: those that it serves, and those at other addresses. It says what
 * their cards say, which are public, too. Agents that are disabled have no card and are left out.
 */
export function respondWithAgents(
  { base, root, own, remote }: AgentList,
  { query }: Pick<HttpRequest, "query">,
): HttpResponse {
  const all = [...own, ...remote];
  const token = query.get("pageToken");
  const start = token === null ? 0 : all.findIndex(({ id }) => id === token) + 1;
  if (token !== null && start === 0) {
    throw invalidParams("pageToken", "is not from this list: read it from its beginning");
  }
  const rest = all.slice(start).filter((entry) => !("isEnabled" in entry) || entry.isEnabled);
  const page = rest.slice(0, PAGE);
  const body = {
    agents: page.map((entry) => ("isEnabled" in entry ? ownJson(entry, base) : remoteJson(entry))),
    default: root,
    ...(rest.length > PAGE && { nextPageToken: page.at(-1)!.id }),
  };
  return jsonResponse(200, JSON.stringify(body), {
    "cache-control": "public, max-age=60",
    "access-control-allow-origin": "*",
  });
}

function ownJson({ id, name, description, skills }: OwnEntry, base: string): object {
  const url = `${base}/agents/${id}`;
  const listed = skills.map((skill) => ({
    id: skill.id,
    name: skill.name,
    description: skill.description,
    tags: skill.tags,
  }));
  return { id, name, description, url, cardUrl: url + CARD_PATH, skills: listed };
}

/** Its skills are on its card, which the caller reads: the host sends no requests for it. */
function remoteJson({ id, name, description, url }: RemoteAgentEntry): object {
  return { id, name, description, url };
}
