import { createMemoryBackend } from "@convoke/engine/memory";
import type { Backend } from "@convoke/engine";
import { setTimeout as sleep } from "node:timers/promises";

/** Takes longer to store a question than an answer waits for an agent that is about to ask. */
export function slowToAsk(): Backend {
  const memory = createMemoryBackend();
  return {
    tasks: memory.tasks,
    pushes: memory.pushes,
    retention: memory.retention,
    commit: async (step) => {
      if (step.state === "input-required") await sleep(1200);
      return memory.commit(step);
    },
    read: (taskId, after, limit) => memory.read(taskId, after, limit),
    watch: (taskId, wake) => memory.watch(taskId, wake),
    close: () => memory.close(),
  };
}
