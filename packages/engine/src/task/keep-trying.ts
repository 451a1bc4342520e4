import { setTimeout as sleep } from "node:timers/promises";

/** How long to wait after the storage failed, before it is tried again. */
const WAIT_MS = { first: 50, longest: 2000 };

/**
 * Does what must not be lost because a disk was full for a moment: tries until
 * the storage works again. Nothing comes back once it is over.
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
