import type { Backend, Step } from "@convoke/engine";
import { type CrashPlan, crash } from "./crash-point.ts";

/** A backend that kills its process before or after one of its commits. */
export function crashingBackend(backend: Backend, plan: CrashPlan): Backend {
  return {
    tasks: backend.tasks,
    pushes: backend.pushes,
    retention: backend.retention,
    read: (taskId, after, limit) => backend.read(taskId, after, limit),
    watch: (taskId, wake) => backend.watch(taskId, wake),
    close: () => backend.close(),
    commit: async (step) => {
      if (diesBefore(plan, step)) crash();
      const committed = await backend.commit(step);
      if (plan.at === "after-commit" && holds(step, plan.on)) crash();
      return committed;
    },
  };
}

function diesBefore({ at, on }: CrashPlan, step: Step): boolean {
  if (at === "before-commit") return holds(step, on);
  return at === "before-result" && step.events.some((json) => isResultOf(json, on));
}

function holds({ events }: Step, pattern: string): boolean {
  return events.some((json) => new RegExp(pattern).test(json));
}

/** Of a step of a function, or of a tool. */
function isResultOf(json: string, name: string): boolean {
  const isStep = json.includes('"kind":"internal:step-end"') && json.includes(`"name":"${name}"`);
  const isTool = json.includes('"kind":"internal:tool-complete"');
  return isStep || (isTool && json.includes(`"toolName":"${name}"`));
}
