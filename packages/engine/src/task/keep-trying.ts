import { sleep } from "@convoke/protocol/internal";

/** How long to wait before another attempt; doubles up to the longest. */
const WAIT_MS = { first: 50, longest: 2000 };

/**
 * Retries until the storage works again: for writes that must not be lost because
 * a disk was full for a moment. Resolves to `undefined` once `isOver` returns true.
 */
export async function keepTrying<T>(
  work: (isRetry: boolean) => Promise<T>,
  until: { readonly isOver: () => boolean; readonly onError: (error: unknown) => void },
): Promise<T | undefined> {
  let isRetry = false;
  for (let wait = WAIT_MS.first; ; wait = Math.min(2 * wait, WAIT_MS.longest)) {
    try {
      return await work(isRetry);
    } catch (error) {
      if (until.isOver()) return undefined;
      until.onError(error);
      isRetry = true;
      await sleep(wait);
      if (until.isOver()) return undefined;
    }
  }
}
