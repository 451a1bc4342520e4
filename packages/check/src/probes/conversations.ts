import { must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";
import { asking, finished, sendForTask } from "../scene/tasks.ts";
import { Failed } from "../verdict.ts";

const UNKNOWN = "convoke-check-no-such-task";

/** Messages to tasks that exist, have ended, or never were. */
export const CONVERSATIONS: readonly Probe[] = [
  {
    name: "unknown-task",
    says: "A message to a task that does not exist is refused as TaskNotFound.",
    claims: [must("v1-S35", "§3.4.2"), should("v03-S15", "§7.1, §8.2")],
    async run(scene) {
      const params = scene.requests.send(scene.settings.message, { taskId: UNKNOWN });
      await scene.refused(scene.call("sendMessage", params), "TaskNotFound");
    },
  },
  {
    name: "ended",
    says: "A message to a task that has ended is refused as UnsupportedOperation.",
    claims: [must("v1-S9", "§3.1.1")],
    async run(scene) {
      const { taskId, contextId } = (await finished(scene)).value;
      const params = scene.requests.send(scene.settings.message, { taskId, contextId });
      await scene.refused(scene.call("sendMessage", params), "UnsupportedOperation");
    },
  },
  {
    name: "ended",
    says: "A task that has ended takes no message.",
    claims: [should("v03-S15", "§6.1, §7.1")],
    async run(scene) {
      const { taskId, contextId } = (await finished(scene)).value;
      const params = scene.requests.send(scene.settings.message, { taskId, contextId });
      await scene.refused(scene.call("sendMessage", params));
    },
  },
  {
    name: "infers-context",
    says: "A message that names only a task belongs to the context of that task.",
    claims: [must("v1-S36", "§3.4.3")],
    async run(scene) {
      const { value: task } = await asking(scene);
      const { taskId, contextId } = task;
      const answer = await sendForTask(scene, scene.settings.message, { taskId });
      if (answer.value.taskId === taskId && answer.value.contextId === contextId) return;
      throw new Failed(`the task ${taskId} in the context ${contextId}`, answer.exchange);
    },
  },
  {
    name: "other-context",
    says: "A message that names a task and another context is refused.",
    claims: [must("v1-S36", "§3.4.3")],
    async run(scene) {
      const { taskId } = (await asking(scene)).value;
      const message = { taskId, contextId: "convoke-check-another-context" };
      const params = scene.requests.send(scene.settings.message, message);
      await scene.refused(scene.call("sendMessage", params));
    },
  },
  {
    name: "goes-on",
    says: "An answer to a question goes on with the task that asked.",
    claims: [must("v1-S36", "§3.4.3"), must("v03-S4", "§7.1")],
    async run(scene) {
      const { taskId, contextId } = (await asking(scene)).value;
      const answer = await sendForTask(scene, scene.settings.message, { taskId, contextId });
      if (answer.value.taskId === taskId) return;
      throw new Failed(`the task ${taskId}, gone on`, answer.exchange);
    },
  },
];
