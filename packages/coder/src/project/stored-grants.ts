import type { Grant, GrantStore } from "@convoke/runtime";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile, sha256 } from "../storage/blobs.ts";
import { InOrder } from "../workspace/in-order.ts";
import { errorCode } from "../workspace/workspace-error.ts";

/**
 * The tools that each caller has approved for always in a workspace, one file for each caller. They
 * survive restarts. Calls that are a danger, such as commands, are asked for all the same.
 */
export class StoredGrants implements GrantStore {
  readonly #folder: string;
  readonly #order = new InOrder();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async isGranted({ owner, toolName }: Grant): Promise<boolean> {
    return (await this.list(owner)).includes(toolName);
  }

  add({ owner, toolName }: Grant): Promise<void> {
    return this.#order.run(async () => {
      const tools = new Set([...(await this.list(owner)), toolName]);
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      await replaceFile(this.#fileOf(owner), JSON.stringify([...tools]));
    });
  }

  /** The names of the tools. */
  async list(owner: string): Promise<readonly string[]> {
    try {
      return JSON.parse(await readFile(this.#fileOf(owner), "utf8")) as readonly string[];
    } catch (error) {
      if (errorCode(error) === "ENOENT") return [];
      throw error;
    }
  }

  /** The caller is asked again. */
  clear(owner: string): Promise<void> {
    return this.#order.run(() => rm(this.#fileOf(owner), { force: true }));
  }

  #fileOf(owner: string): string {
    return join(this.#folder, `${sha256(Buffer.from(owner))}.json`);
  }
}
