import type { Agents, Logger } from "@convoke/engine";
import { type FollowOptions, type OpenValues, followValue, updateValue } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";

/** What is stored about an agent. */
export interface StoredAgent {
  /** Whether an operator has disabled it. */
  readonly isDisabled?: boolean;
  /** The definition that a running server of an earlier version was given. It has no effect. */
  readonly definition?: Readonly<Record<string, unknown>>;
  /** Fields of its definition that were changed there; `null` removed one. They have no effect. */
  readonly changes?: Readonly<Record<string, unknown>>;
}

/** What is stored about the agents of a server. Definitions and changes are only written by earlier versions. */
export interface StoredAgents {
  /** The operator serves agents that include the definitions and changes. */
  readonly takenOver?: boolean;
  readonly agents: Readonly<Record<string, StoredAgent>>;
}

/** Where servers keep what is stored: together in a database, in a data folder, or in memory. */
export interface AgentsPlace {
  readonly folder?: string | undefined;
  readonly values?: OpenValues | undefined;
}

/** What is stored about agents keeps a server from starting. The message says what to do. */
export class StoredAgentsError extends Error {
  override readonly name = "StoredAgentsError";
}

export async function readStoredAgents(place: AgentsPlace): Promise<StoredAgents> {
  const text = openText(place);
  return parse(await text.read(), text.name);
}

/**
 * Which agents of a server are disabled. A change is stored before it applies, so that it survives a
 * crash, and servers that share a database make each other's changes within a second.
 */
export class AgentSwitches {
  readonly #text: StoredText;
  readonly #agents: Agents;
  /** Ends when the changes so far have been made: one after the other, so that none is lost. */
  #changing: Promise<unknown> = Promise.resolve();
  #stopFollowing: (() => void) | undefined;

  private constructor(text: StoredText, agents: Agents) {
    this.#text = text;
    this.#agents = agents;
  }

  /** Disables the agents that are stored as disabled, now and from then on. */
  static async open(
    place: AgentsPlace,
    { agents, logger }: { readonly agents: Agents; readonly logger: Logger },
  ): Promise<AgentSwitches> {
    const switches = new AgentSwitches(openText(place), agents);
    const sync = (): Promise<void> => switches.#inTurn(() => switches.#sync(logger));
    await sync();
    switches.#stopFollowing = switches.#text.follow?.({
      apply: sync,
      onError: (error) => logger.error("it cannot be read which agents are disabled", { error }),
    });
    return switches;
  }

  close(): void {
    this.#stopFollowing?.();
  }

  /** Resolves when it is stored and has taken effect here. */
  enable(id: string, isEnabled: boolean): Promise<void> {
    return this.#inTurn(async () => {
      await this.#text.update((stored) => withSwitch(stored, id, isEnabled));
      this.#agents.get(id)?.enable(isEnabled);
    });
  }

  async #sync(logger: Logger): Promise<void> {
    const { agents } = parse(await this.#text.read(), this.#text.name);
    for (const agent of this.#agents) {
      const isEnabled = agents[agent.id]?.isDisabled !== true;
      if (agent.isEnabled === isEnabled) continue;
      agent.enable(isEnabled);
      logger.info(`an agent is ${isEnabled ? "enabled" : "disabled"}`, { agentId: agent.id });
    }
  }

  #inTurn(change: () => Promise<void>): Promise<void> {
    const made = this.#changing.then(change);
    this.#changing = made.catch(() => undefined);
    return made;
  }
}

function withSwitch(stored: StoredAgents, id: string, isEnabled: boolean): StoredAgents {
  const { [id]: { isDisabled: _, ...kept } = {}, ...others } = stored.agents;
  const next: StoredAgent = isEnabled ? kept : { ...kept, isDisabled: true };
  return {
    ...stored,
    agents: Object.keys(next).length === 0 ? others : { ...others, [id]: next },
  };
}

/**
 * Rejects if agents were added or changed on a running server of an earlier version and the operator
 * has not said that they are taken over: without them their tasks would wait for ever. It says so once.
 */
export async function requireTakenOver(place: AgentsPlace, isTakenOver: boolean): Promise<void> {
  const text = openText(place);
  const stored = parse(await text.read(), text.name);
  const all = Object.values(stored.agents);
  const isDone = all.every(({ definition, changes }) => (definition ?? changes) === undefined);
  if (isDone || stored.takenOver === true) return;
  if (isTakenOver) return text.update((current) => ({ ...current, takenOver: true }));
  throw new StoredAgentsError(
    `${text.name} has agents that were added or changed on a running server, which this version does not do: ${namesOf(stored)}. ` +
      "They have no effect, and tasks of agents that are not served would wait for ever. Nothing is deleted. " +
      `Take them over into the agents that you serve (convoke agents stored ${place.values ? "<database>" : place.folder} prints them as code), then set storedAgentsTakenOver: true`,
  );
}

/** The ids with the names of their fields, whose values may be secret. */
function namesOf({ agents }: StoredAgents): string {
  return Object.entries(agents)
    .map(([id, { definition, changes, isDisabled }]) => {
      const facts = [
        ...(definition ? [`definition: ${Object.keys(definition).join(", ")}`] : []),
        ...(changes ? [`changes: ${Object.keys(changes).join(", ")}`] : []),
        ...(isDisabled === true ? ["disabled"] : []),
      ];
      return `${id} (${facts.join("; ")})`;
    })
    .join(", ");
}

/** One text, which has everything. */
interface StoredText {
  /** For errors. */
  readonly name: string;
  read(): Promise<string | undefined>;
  /** Replaces it: after a crash it is as before or as after. `change` may be called several times. */
  update(change: (stored: StoredAgents) => StoredAgents): Promise<void>;
  /** Present if other servers change it as well. */
  readonly follow?: (options: FollowOptions) => () => void;
}

const FILE = "agents.json";

/** The collection and the key in a database. */
const COLLECTION = "agents";
const KEY = "changes";

function openText({ folder, values }: AgentsPlace): StoredText {
  if (values !== undefined) return inDatabase(values);
  return folder === undefined ? inMemory() : inFile(join(folder, FILE));
}

function inDatabase(values: OpenValues): StoredText {
  const name = "the database";
  const shared = values(COLLECTION);
  return {
    name,
    read: async () => (await shared.get(KEY))?.value,
    update: async (change) => {
      await updateValue(shared, KEY, (text) => toText(change(parse(text, name))));
    },
    follow: (options) => followValue(shared, KEY, options),
  };
}

function inMemory(): StoredText {
  let text: string | undefined;
  return {
    name: "memory",
    read: async () => text,
    update: async (change) => {
      text = toText(change(parse(text, "memory")));
    },
  };
}

/** The file is for its owner alone, because definitions of earlier versions may hold secrets. */
function inFile(path: string): StoredText {
  const read = async (): Promise<string | undefined> => {
    try {
      return await readFile(path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  };
  return {
    name: path,
    read,
    update: async (change) => {
      const text = toText(change(parse(await read(), path)));
      const folder = dirname(path);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await using file = await open(`${path}.new`, "w", 0o600);
      await file.writeFile(text);
      await file.sync();
      await rename(`${path}.new`, path);
      await syncFolder(folder);
    },
  };
}

/** Without it a rename may be lost if the machine loses power. */
async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open folders.
  if (process.platform === "win32") return;
  await using handle = await open(folder, "r");
  await handle.sync();
}

/** The format of the text. */
const VERSION = 1;

function toText(stored: StoredAgents): string {
  return `${JSON.stringify({ version: VERSION, ...stored }, undefined, 2)}\n`;
}

function parse(text: string | undefined, name: string): StoredAgents {
  if (text === undefined) return { agents: {} };
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    const problem = "what is stored about agents is not JSON; restore it from a backup";
    throw new StoredAgentsError(`${name}: ${problem}`, { cause: error });
  }
  const { version, agents, ...rest } = isObject(content) ? content : {};
  if (version !== VERSION) {
    throw new StoredAgentsError(
      `${name}: what is stored about agents has the version ${JSON.stringify(version)}, and this program knows ${VERSION}: use the program that wrote it`,
    );
  }
  if (isObject(agents) && Object.values(agents).every(isObject)) {
    return { ...rest, agents: agents as StoredAgents["agents"] };
  }
  throw new StoredAgentsError(`${name}: what is stored must have an object of agents`);
}
