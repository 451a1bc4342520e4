import type { Grant, GrantStore } from "@convoke/runtime";
import { sha256 } from "../storage/blobs.ts";
import type { Texts } from "../storage/texts.ts";

/**
 * The tools that each caller has approved for always in a workspace, one text for each caller. They
 * survive restarts. Calls that are a danger, such as commands, are asked for all the same.
 */
export class StoredGrants implements GrantStore {
  readonly #texts: Texts;

  constructor(texts: Texts) {
    this.#texts = texts;
  }

  async isGranted({ owner, toolName }: Grant): Promise<boolean> {
    return (await this.list(owner)).includes(toolName);
  }

  async add({ owner, toolName }: Grant): Promise<void> {
    await this.#texts.update(nameOf(owner), (text) =>
      JSON.stringify([...new Set([...parse(text), toolName])]),
    );
  }

  /** The names of the tools. */
  async list(owner: string): Promise<readonly string[]> {
    return parse(await this.#texts.read(nameOf(owner)));
  }

  /** The caller is asked again. */
  async clear(owner: string): Promise<void> {
    await this.#texts.update(nameOf(owner), () => undefined);
  }
}

function nameOf(owner: string): string {
  return sha256(Buffer.from(owner));
}

function parse(text = "[]"): readonly string[] {
  return JSON.parse(text) as readonly string[];
}
