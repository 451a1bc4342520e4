import { startTimer } from "../internal/timer.ts";

/** A stored text. Its version is another one each time it is written, also after it was deleted. */
export interface StoredValue {
  readonly value: string;
  readonly version: number;
}

export interface KeyedValue extends StoredValue {
  readonly key: string;
}

/** The version to write with if there must be no value yet. */
export const NO_VALUE = 0;

/**
 * A collection of small texts that the processes of one storage share, such as API keys. Every
 * implementation passes the same contract suite: `describeKeyValues` in `@convoke/engine/testing`.
 */
export interface KeyValueStore {
  get(key: string): Promise<StoredValue | undefined>;
  /** All values of the collection, ordered by key. */
  list(): Promise<readonly KeyedValue[]>;
  /**
   * Writes a value, and resolves to its version once it is durable.
   *
   * @param version of the value that it replaces, or `NO_VALUE`. If another one is stored, nothing is
   * written, and the result is `undefined`. Default: it replaces whatever is stored.
   */
  put(key: string, value: string, version?: number): Promise<number | undefined>;
  /** Deletes a value, with the same condition. Resolves to whether it was deleted. */
  delete(key: string, version?: number): Promise<boolean>;
  /**
   * Calls `changed` within a second after any process has changed the collection. It is called once
   * at the beginning, so that nothing is missed between a read and this call, and may be called again
   * without a change. Returns a function that stops it.
   */
  watch(changed: () => void): () => void;
}

/** Opens a collection by its name. Nothing has to be closed. */
export type OpenValues = (collection: string) => KeyValueStore;

/**
 * Changes a value as it is now, whatever other processes do at the same time.
 *
 * @param change returns the new text, or `undefined` to delete it. It may be called several times. If
 * it throws, nothing changes.
 */
export async function updateValue(
  values: KeyValueStore,
  key: string,
  change: (value: string | undefined) => string | undefined,
): Promise<string | undefined> {
  for (;;) {
    const stored = await values.get(key);
    const next = change(stored?.value);
    if (next === stored?.value) return next;
    const version = stored?.version ?? NO_VALUE;
    const isDone =
      next === undefined
        ? await values.delete(key, version)
        : (await values.put(key, next, version)) !== undefined;
    if (isDone) return next;
  }
}

/** How long to wait before a value that could not be read is read again. */
const RETRY_MS = 1000;

export interface FollowOptions {
  /** Called with the value now and after each change, `undefined` if there is none. Calls do not overlap. */
  readonly apply: (value: string | undefined) => void | Promise<void>;
  /** Called if the value could not be read or applied. It is tried again after a second. */
  readonly onError: (error: unknown) => void;
}

/** Keeps up with a value that other processes change. Returns a function that stops it. */
export function followValue(
  values: KeyValueStore,
  key: string,
  { apply, onError }: FollowOptions,
): () => void {
  let isStopped = false;
  let isReading = false;
  let isStale = false;
  let stopRetry = (): void => {};
  const read = async (): Promise<void> => {
    isStale = true;
    if (isReading) return;
    isReading = true;
    try {
      while (isStale && !isStopped) {
        isStale = false;
        const stored = await values.get(key);
        if (!isStopped) await apply(stored?.value);
      }
    } catch (error) {
      if (!isStopped) {
        onError(error);
        stopRetry = startTimer(RETRY_MS, () => void read(), { unref: true });
      }
    } finally {
      isReading = false;
    }
  };
  const stop = values.watch(() => void read());
  return () => {
    isStopped = true;
    stopRetry();
    stop();
  };
}
