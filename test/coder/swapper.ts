// Exchanges folders and files of a workspace for links to the outside, and back, as fast as it can.
import { renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";

interface SwapJob {
  readonly paths: readonly string[];
  /** Where the links lead: a folder outside. */
  readonly outside: string;
  /** Becomes 1 when it should stop. */
  readonly stop: Int32Array;
}

const { paths, outside, stop } = workerData as SwapJob;
parentPort!.postMessage("ready");
for (let turn = 0; Atomics.load(stop, 0) === 0; turn++) {
  const path = paths[turn % paths.length]!;
  const aside = `${path}.aside-${turn}`;
  try {
    renameSync(path, aside);
    symlinkSync(turn % 2 === 0 ? outside : join(outside, "secret.txt"), path);
    rmSync(path, { force: true });
    renameSync(aside, path);
  } catch {
    // A tool has changed something at the same moment.
    try {
      rmSync(path, { force: true });
      renameSync(aside, path);
    } catch {
      // There is a folder by now; leave both.
    }
  }
}
parentPort!.close();
