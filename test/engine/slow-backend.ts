import { setTimeout as sleep } from "node:timers/promises";
import type { Backend } from "@convoke/engine";

/** A backend that delays every commit and every read. */
export function slowBackend(backend: Backend, ms: number): Backend {
  return {
    tasks: backend.tasks,
    pushes: backend.pushes,
    retention: backend.retention,
    commit: async (step) => {
      await sleep(ms);
      return backend.commit(step);
    },
    // A read returns the state at the time of the request.
    read: async (taskId, after, limit) => {
      const page = await backend.read(taskId, after, limit);
      await sleep(ms);
      return page;
    },
    watch: (taskId, wake) => backend.watch(taskId, wake),
    close: () => backend.close(),
  };
}
