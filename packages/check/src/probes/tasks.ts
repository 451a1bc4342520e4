import { must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Scene } from "../scene/scene.ts";
import { type SeenTask, textOfParts } from "../scene/seen.ts";
import { asking, finished, getTask, ordinary, sendForTask } from "../scene/tasks.ts";
import { Failed, Skipped } from "../verdict.ts";
import { at } from "../wire/json.ts";

const UNKNOWN = "convoke-check-no-such-task";

/** Tasks that are asked for, and their history. */
export const TASKS: readonly Probe[] = [
  {
    name: "get",
    says: "A task that was begun can be got, as it stands.",
    claims: [must("v1-S19", "§3.1.3"), must("v03-S4", "§7.3")],
    async run(scene) {
      const { value: task } = await finished(scene);
      const { value, exchange } = await getTask(scene, task.taskId);
      if (value.state !== task.state) throw new Failed(`the state ${task.state}`, exchange);
    },
  },
  {
    name: "get-unknown",
    says: "A task that does not exist is refused as TaskNotFound.",
    claims: [must("v1-S19", "§3.1.3"), should("v03-S11", "§7.3, §8.2")],
    async run(scene) {
      await scene.refused(scene.call("getTask", scene.requests.get(UNKNOWN)), "TaskNotFound");
    },
  },
  {
    name: "same-tasks",
    says: "A task that was begun at another interface is known here as well.",
    claims: [must("v1-S5", "§5.1"), must("v03-S10", "§3.4.1")],
    async run(scene) {
      const [other] = scene.stage.siblings;
      if (other === undefined) throw new Skipped("this is the first interface of its version");
      const { value } = await finished(scene.at(other));
      await getTask(scene, value.taskId);
    },
  },
  {
    name: "history-limit",
    says: "No more messages of the history are told than were asked for.",
    claims: [must("v1-S20", "§3.2.4"), should("v03-S4", "§7.3.1")],
    async run(scene) {
      const { taskId } = await taskWithHistory(scene);
      const { value, exchange } = await getTask(scene, taskId, 1);
      if (value.history.length <= 1) return;
      throw new Failed("a history of at most one message", exchange);
    },
  },
  {
    name: "history-none",
    says: "A historyLength of 0 leaves the history out.",
    claims: [should("v1-S21", "§3.2.4")],
    async run(scene) {
      const { taskId } = (await finished(scene)).value;
      const { value, exchange } = await getTask(scene, taskId, 0);
      if (at(value.json, "history") === undefined) return;
      throw new Failed("a task without a history", exchange);
    },
  },
  {
    name: "history-in-order",
    says: "The history is told oldest first.",
    claims: [should("v1-S21", "§3.2.4")],
    async run(scene) {
      const { taskId } = await taskWithHistory(scene);
      const { value, exchange } = await getTask(scene, taskId, 100);
      const texts = value.history.map(textOfParts);
      const asked = texts.indexOf(scene.settings.ask ?? scene.settings.message);
      const answered = texts.lastIndexOf(ANSWER);
      if (asked === -1 || answered === -1) throw new Skipped("the server keeps no such history");
      if (asked > answered) throw new Failed("the question before its answer", exchange);
    },
  },
  {
    name: "artifacts",
    says: "What a completed task has produced is in its artifacts.",
    claims: [should("v1-S38", "§3.7"), should("v03-S16", "§6.1")],
    async run(scene) {
      const { value, exchange } = await ordinary(scene);
      if (value.kind === "message") throw new Skipped("the agent answers with a message");
      if (value.state !== "completed") throw new Skipped("the ordinary task does not complete");
      if (value.artifacts.length === 0) throw new Failed("a task with artifacts", exchange);
    },
  },
];

const ANSWER = "convoke check answers";

/** A task of two messages at least. It is made once. */
function taskWithHistory(scene: Scene): Promise<SeenTask> {
  return scene.stage.once.get("a task with a history", async () => {
    const { value } = await asking(scene);
    const { taskId, contextId } = value;
    await sendForTask(scene, ANSWER, { taskId, contextId });
    return value;
  });
}
