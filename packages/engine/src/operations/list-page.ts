import { setImmediate as nextTurn } from "node:timers/promises";
import { A2AError } from "@convoke/protocol";
import type { Folded } from "../log/load-task.ts";
import type { Call } from "./call.ts";

/** How many times what it may show a page may read: cutting a history off does not save reading it. */
const READ_FACTOR = 8;

/** Reading more than this takes milliseconds, so other requests get a turn in between. */
const LARGE = 256 * 1024;

/**
 * Ends a page of a list by its bytes. A page whose tasks are as large as the limits allow would
 * otherwise exhaust the heap, whatever its number of tasks is limited to.
 */
export class PageBudget {
  readonly #bytes: number;
  #shown = 0;
  #read = 0;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Whether the page has room for this. An empty page always has, so that every page leads on. */
  takes(shown: unknown): boolean {
    const bytes = Buffer.byteLength(JSON.stringify(shown));
    if (this.#shown > 0 && this.#shown + bytes > this.#bytes) return false;
    this.#shown += bytes;
    return true;
  }

  /** Counts what had to be read for the page, shown or not. */
  read({ size }: Folded): void {
    this.#read += size;
  }

  /** Whether the page has read so much that the rest is left to the next one. */
  get isSpent(): boolean {
    return this.#read >= this.#bytes * READ_FACTOR;
  }
}

/** A task that a list has found, or `undefined` if retention has removed it since. */
export async function findListed(
  taskId: string,
  { engine, caller }: Pick<Call, "engine" | "caller">,
): Promise<Folded | undefined> {
  try {
    const found = await engine.tasks.find(taskId, caller);
    if (found.size > LARGE) await nextTurn();
    return found;
  } catch (error) {
    if (A2AError.is(error) && error.reason === "TaskNotFound") return undefined;
    throw error;
  }
}
