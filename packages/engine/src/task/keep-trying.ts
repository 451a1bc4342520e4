import { sleep } from "@convoke/protocol/internal";
import { InvalidStepError } from "../log/check-commit.ts";
import { isStorageFailure } from "../log/storage-failure.ts";

/** How long to wait before another attempt; doubles up to the longest. */
const WAIT_MS = { first: 50, longest: 2000 };

/**
 * Retries until the storage works again: for writes that must not be lost because
 * a disk was full for a moment. Resolves to `undefined` once `isOver` returns true, or if the
 * storage cannot work again.
 */
export async function keepTrying<T>(
  work: () => Promise<T>,
  until: { readonly isOver: () => boolean; readonly onError: (error: unknown) => void },
): Promise<T | undefined> {
  for (let wait = WAIT_MS.first; ; wait = Math.min(2 * wait, WAIT_MS.longest)) {
    try {
      return await work();
    } catch (error) {
      if (until.isOver()) return undefined;
      until.onError(error);
      if (isStorageFailure(error) && error.isPermanent) return undefined;
      await sleep(wait);
      if (until.isOver()) return undefined;
    }
  }
}

/**
 * Tries again once, which finds out whether the first attempt was stored nevertheless. Rejects if the
 * storage fails twice.
 */
export async function tryTwice<T>(
  work: () => Promise<T>,
  onError: (error: unknown) => void,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof InvalidStepError) throw error;
  }
  try {
    return await work();
  } catch (error) {
    if (isStorageFailure(error)) onError(error);
    throw error;
  }
}
