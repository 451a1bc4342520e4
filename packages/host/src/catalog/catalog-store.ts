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

/** Keeps the changes to a catalogue. One server at a time uses it. */
export interface CatalogStore {
  /** What was written last; nothing if nothing was. */
  read(): Promise<StoredAgents>;
  /** Replaces everything. After a crash it is as before or as written, nothing in between. */
  write(agents: StoredAgents): Promise<void>;
}

/** Keeps the changes as long as the process. */
export class MemoryCatalogStore implements CatalogStore {
  #agents: StoredAgents = {};

  async read(): Promise<StoredAgents> {
    return this.#agents;
  }

  async write(agents: StoredAgents): Promise<void> {
    this.#agents = agents;
  }
}

/** The format of the file. A server rejects one that it does not know. */
const VERSION = 1;

/** Keeps the changes in a file, for its owner alone, because definitions may contain secrets. */
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
  async write(agents: StoredAgents): Promise<void> {
    const next = `${this.#path}.new`;
    const folder = dirname(this.#path);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await using file = await open(next, "w", 0o600);
    await file.writeFile(`${JSON.stringify({ version: VERSION, agents }, undefined, 2)}\n`);
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
