import { type KeyValueStore, updateValue } from "@convoke/protocol";
import { mkdir, readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { InOrder } from "../workspace/in-order.ts";
import { errorCode } from "../workspace/workspace-error.ts";
import { replaceFile } from "./blobs.ts";

/** Small JSON texts that the agent keeps, by name. */
export interface Texts {
  read(name: string): Promise<string | undefined>;
  /** All texts, in no particular order. */
  list(): Promise<readonly string[]>;
  /**
   * Changes a text as it is now. No change at the same time is lost.
   *
   * @param change returns the new text, or `undefined` to delete it. It may be called several times.
   * If it throws, nothing changes.
   */
  update(
    name: string,
    change: (text: string | undefined) => string | undefined,
  ): Promise<string | undefined>;
}

/** One file for each text, in a folder of the only process of the agent. */
export class FileTexts implements Texts {
  readonly #folder: string;
  readonly #order = new InOrder();

  constructor(folder: string) {
    this.#folder = folder;
  }

  read(name: string): Promise<string | undefined> {
    return readIfAny(this.#fileOf(name));
  }

  async list(): Promise<readonly string[]> {
    const files = await readdir(this.#folder).catch(() => []);
    const named = files.filter((file) => file.endsWith(".json"));
    const texts = await Promise.all(named.map((file) => readIfAny(join(this.#folder, file))));
    return texts.filter((text) => text !== undefined);
  }

  update(
    name: string,
    change: (text: string | undefined) => string | undefined,
  ): Promise<string | undefined> {
    return this.#order.run(async () => {
      const text = await this.read(name);
      const next = change(text);
      if (next === undefined) await rm(this.#fileOf(name), { force: true });
      else if (next !== text) {
        await mkdir(this.#folder, { recursive: true, mode: 0o700 });
        await replaceFile(this.#fileOf(name), next);
      }
      return next;
    });
  }

  #fileOf(name: string): string {
    return join(this.#folder, `${name}.json`);
  }
}

async function readIfAny(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Texts in the database that all processes of the agent share. */
export class SharedTexts implements Texts {
  readonly #values: KeyValueStore;

  constructor(values: KeyValueStore) {
    this.#values = values;
  }

  async read(name: string): Promise<string | undefined> {
    return (await this.#values.get(name))?.value;
  }

  async list(): Promise<readonly string[]> {
    return (await this.#values.list()).map(({ value }) => value);
  }

  update(
    name: string,
    change: (text: string | undefined) => string | undefined,
  ): Promise<string | undefined> {
    return updateValue(this.#values, name, change);
  }
}
