import { useEffect } from "preact/hooks";
import { onTaskChange } from "./feed.ts";

/** Lists are read at most this often, however many tasks change. */
const PAUSE_MS = 800;

/** Loads a list again when tasks have changed, while the page is shown. */
export function useLive(reload: () => void): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = 0;
    const run = (): void => {
      timer = undefined;
      last = Date.now();
      reload();
    };
    const stop = onTaskChange(() => {
      timer ??= setTimeout(run, Math.max(0, last + PAUSE_MS - Date.now()));
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [reload]);
}
