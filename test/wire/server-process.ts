import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";

/** The demo agent in its own process. */
interface ServerProcess {
  readonly url: string;
  /** Its peak memory. */
  peakBytes(): Promise<number>;
}

/** Starts the process for the tests of a file or of a `describe`, and stops it afterwards. */
export function useServerProcess(): ServerProcess {
  let child: ChildProcess;
  let data: string;
  let url: string;

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), "convoke-wire-"));
    child = fork(new URL("./served-process.ts", import.meta.url), [data], {
      execArgv: ["--conditions=@convoke/source"],
    });
    ({ url } = await nextWord<{ url: string }>(child));
  });

  afterAll(async () => {
    const gone = once(child, "exit");
    child.disconnect();
    await gone;
    await rm(data, { recursive: true, force: true });
  });

  return {
    get url() {
      return url;
    },
    peakBytes: async () => {
      const word = nextWord<{ peakBytes: number }>(child);
      child.send("memory?");
      return (await word).peakBytes;
    },
  };
}

/** The next message of the process; rejects if it dies instead. */
function nextWord<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`the server died: ${code}`));
    child.once("exit", onExit);
    child.once("message", (word) => {
      child.off("exit", onExit);
      resolve(word as T);
    });
  });
}
