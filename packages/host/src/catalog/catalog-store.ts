import { type OpenValues, followValue, updateValue } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";

/** A definition as JSON. */
export type JsonDefinition = Readonly<Record<string, unknown>>;

/** What was changed about one agent while servers ran. */
export interface StoredAgent {
  /** Its whole definition: it was added, or replaces that of the configuration. */
  readonly definition?: JsonDefinition;
  /** Fields that replace those of the configuration. */
  readonly changes?: JsonDefinition;
  readonly isDisabled?: boolean;
}

/** The changes by the ids of the agents. */
export type StoredAgents = Readonly<Record<string, StoredAgent>>;

/** Changes what is stored; the argument is what is stored now. It may be called several times. */
type ChangeAgents = (agents: StoredAgents) => StoredAgents;

/** Keeps the changes to a catalogue. */
export interface CatalogStore {
  /** What was written last; nothing if nothing was. */
  read(): Promise<StoredAgents>;
  /**
   * Replaces everything. After a crash it is as before or as written, nothing in between. If `change`
   * throws, nothing is written.
   */
  update(change: ChangeAgents): Promise<void>;
  /**
   * Calls `apply` with everything at first and within a second after each change of another server,
   * one call after the other. Returns a function that stops it. Absent if only one server at a time
   * uses the store.
   */
  follow?(
    apply: (agents: StoredAgents) => Promise<void>,
    onError: (error: unknown) => void,
  ): () => void;
}

/** Keeps the changes as long as the process. */
export class MemoryCatalogStore implements CatalogStore {
  #agents: StoredAgents = {};

  async read(): Promise<StoredAgents> {
    return this.#agents;
  }

  async update(change: ChangeAgents): Promise<void> {
    this.#agents = change(this.#agents);
  }
}

/** All changes are one value, because agents are listed in the order in which they were added. */
const COLLECTION = "agents";
const KEY = "changes";

/** Keeps the changes in a database that servers share. */
export class SharedCatalogStore implements CatalogStore {
  readonly #values: ReturnType<OpenValues>;

  constructor(open: OpenValues) {
    this.#values = open(COLLECTION);
  }

  async read(): Promise<StoredAgents> {
    return parseStored((await this.#values.get(KEY))?.value);
  }

  async update(change: ChangeAgents): Promise<void> {
    await updateValue(this.#values, KEY, (text) => toText(change(parseStored(text))));
  }

  follow(
    apply: (agents: StoredAgents) => Promise<void>,
    onError: (error: unknown) => void,
  ): () => void {
    return followValue(this.#values, KEY, { apply: (text) => apply(parseStored(text)), onError });
  }
}

function parseStored(text: string | undefined): StoredAgents {
  return text === undefined ? {} : parseAgents(text, "the catalogue in the database");
}

/** The format of the text. A server rejects one that it does not know. */
const VERSION = 1;

function toText(agents: StoredAgents): string {
  return `${JSON.stringify({ version: VERSION, agents }, undefined, 2)}\n`;
}

/** Keeps the changes in a file of one server, for its owner alone, because definitions may contain secrets. */
export class FileCatalogStore implements CatalogStore {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async read(): Promise<StoredAgents> {
    let text: string;
    try {
      text = await readFile(this.#path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
      throw error;
    }
    return parseAgents(text, this.#path);
  }

  /** Writes another file and renames it, which replaces the old one at once. */
  async update(change: ChangeAgents): Promise<void> {
    const agents = change(await this.read());
    const next = `${this.#path}.new`;
    const folder = dirname(this.#path);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await using file = await open(next, "w", 0o600);
    await file.writeFile(toText(agents));
    await file.sync();
    await rename(next, this.#path);
    await syncFolder(folder);
  }
}

/** Without it a rename may be lost if the machine loses power. */
async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open folders.
  if (process.platform === "win32") return;
  await using handle = await open(folder, "r");
  await handle.sync();
}

function parseAgents(text: string, path: string): StoredAgents {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw new TypeError(`${path} is not JSON; restore it, or delete it to lose all changes`, {
      cause: error,
    });
  }
  const { version, agents } = isObject(content) ? content : {};
  if (version !== VERSION) {
    throw new TypeError(
      `${path} has the version ${JSON.stringify(version)}, and this program knows ${VERSION}: use the program that wrote it`,
    );
  }
  if (isObject(agents) && Object.values(agents).every(isObject)) return agents as StoredAgents;
  throw new TypeError(`${path} must have an object of agents`);
}
