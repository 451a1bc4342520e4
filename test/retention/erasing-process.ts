import { setTimeout as sleep } from "node:timers/promises";
import { reportReady } from "../harness/report-ready.ts";
import { startFiler } from "./erasing-store.ts";

/**
 * Erases what was requested in a storage, and prints `erased` when that is done. Kills itself during
 * the step DIE_AT of it: DIE_MS after the step began, or before it if that is 0.
 */
const { STORE_FOLDER = "", STORE_DATABASE, DIE_AT, DIE_MS } = process.env;

/** The calls that an erasure makes. */
const STEPS: ReadonlySet<unknown> = new Set([
  "deleteTask",
  "remove",
  "forgetOwner",
  "putErasure",
  "purge",
]);

let steps = 0;

function countSteps<Part extends object>(part: Part): Part {
  return new Proxy(part, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        if (STEPS.has(name) && ++steps === Number(DIE_AT)) {
          if (Number(DIE_MS) === 0) die();
          setTimeout(die, Number(DIE_MS));
        }
        return Reflect.apply(value, target, args);
      };
    },
  });
}

function die(): void {
  process.kill(process.pid, "SIGKILL");
}

const place = { folder: STORE_FOLDER, database: STORE_DATABASE };
const { engine } = await startFiler(place, countSteps);
reportReady("ready");
while ((await engine.backend.retention.erasures()).length > 0) await sleep(5);
process.stdout.write("erased\n");
