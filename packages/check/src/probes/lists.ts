import { must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Scene } from "../scene/scene.ts";
import { type SeenTask, seenTask } from "../scene/seen.ts";
import { finished, sendForTask } from "../scene/tasks.ts";
import { type Exchange, Failed, Skipped } from "../verdict.ts";
import type { Binding } from "../wire/binding.ts";
import { at, listAt, textAt } from "../wire/json.ts";

/** gRPC writes no empty text and no empty list. */
const WRITERS: readonly Binding[] = ["jsonrpc", "rest"];

interface Page {
  readonly tasks: readonly SeenTask[];
  readonly token: string;
  readonly json: unknown;
  readonly exchange: Exchange;
}

/** The list of tasks, which only 1.0 has. */
export const LISTS: readonly Probe[] = [
  {
    name: "list",
    says: "A list has the tasks of the caller, newest status first.",
    claims: [must("v1-S22", "§3.1.4")],
    async run(scene) {
      const { value: task } = await finished(scene);
      const { tasks, exchange } = await list(scene, { contextId: task.contextId });
      if (!tasks.some(({ taskId }) => taskId === task.taskId)) {
        throw new Failed(`a list with the task ${task.taskId}`, exchange);
      }
    },
  },
  {
    name: "newest-first",
    says: "The newest status is first.",
    claims: [must("v1-S22", "§3.1.4")],
    async run(scene) {
      await twoTasks(scene);
      const { tasks, exchange } = await list(scene, {});
      const times = tasks.map(({ json }) => Date.parse(textAt(json, "status", "timestamp")));
      if (tasks.length < 2 || times.some(Number.isNaN)) {
        throw new Skipped("the list has no two tasks with timestamps");
      }
      if (times.every((time, index) => time <= (times[index - 1] ?? time))) return;
      throw new Failed("timestamps that only fall", exchange);
    },
  },
  {
    name: "pages",
    says: "A token leads from page to page, and no task is on two of them.",
    claims: [must("v1-S22", "§3.1.4")],
    async run(scene) {
      await twoTasks(scene);
      const first = await list(scene, { pageSize: 1 });
      if (first.tasks.length !== 1) throw new Failed("a page of one task", first.exchange);
      if (first.token === "") throw new Failed("a token for the next page", first.exchange);
      const second = await list(scene, { pageSize: 1, pageToken: first.token });
      const [task] = second.tasks;
      if (task !== undefined && task.taskId !== first.tasks[0]?.taskId) return;
      throw new Failed("another task on the second page", second.exchange);
    },
  },
  {
    name: "page-fields",
    says: "Every page says how many tasks there are and where it goes on, also the last.",
    claims: [must("v1-S23", "§3.1.4")],
    bindings: WRITERS,
    async run(scene) {
      const { contextId } = (await finished(scene)).value;
      const { json, exchange } = await list(scene, { contextId });
      if (typeof at(json, "nextPageToken") !== "string")
        throw new Failed("a nextPageToken", exchange);
      for (const name of ["pageSize", "totalSize"]) {
        if (typeof at(json, name) !== "number") throw new Failed(`a ${name}`, exchange);
      }
    },
  },
  {
    name: "no-artifacts",
    says: "Artifacts are listed only where they are asked for.",
    claims: [must("v1-S23", "§3.1.4")],
    async run(scene) {
      const { value: task } = await finished(scene);
      if (task.artifacts.length === 0) throw new Skipped("the ordinary task has no artifacts");
      const { contextId } = task;
      const without = await list(scene, { contextId });
      if (without.tasks.some(({ json }) => at(json, "artifacts") !== undefined)) {
        throw new Failed("tasks without artifacts", without.exchange);
      }
      const { tasks, exchange } = await list(scene, { contextId, includeArtifacts: true });
      if (!tasks.some(({ artifacts }) => artifacts.length > 0)) {
        throw new Failed("tasks with their artifacts", exchange);
      }
    },
  },
  {
    name: "by-context",
    says: "A list of one context has only tasks of that context.",
    claims: [must("v1-S22", "§3.1.4")],
    async run(scene) {
      await twoTasks(scene);
      const { contextId } = (await finished(scene)).value;
      const { tasks, exchange } = await list(scene, { contextId });
      if (tasks.every((task) => task.contextId === contextId)) return;
      throw new Failed(`only tasks of the context ${contextId}`, exchange);
    },
  },
  {
    name: "by-state",
    says: "A list of one state has only tasks in that state.",
    claims: [must("v1-S22", "§3.1.4")],
    async run(scene) {
      await twoTasks(scene);
      const { tasks, exchange } = await list(scene, { state: "working" });
      if (tasks.every(({ state }) => state === "working")) return;
      throw new Failed("only tasks that are being worked on", exchange);
    },
  },
  {
    name: "history-limit",
    says: "No more messages of the history are listed than were asked for.",
    claims: [must("v1-S20", "§3.2.4")],
    async run(scene) {
      await finished(scene);
      const { tasks, exchange } = await list(scene, { historyLength: 0 });
      if (tasks.every(({ history }) => history.length === 0)) return;
      throw new Failed("tasks without a history", exchange);
    },
  },
  {
    name: "bad-page-size",
    says: "A page of fewer than no tasks is refused.",
    claims: [should("v1-S24", "§3.1.4, §6.5")],
    async run(scene) {
      const params = { ...scene.requests.list(), pageSize: -1 };
      await scene.refused(scene.call("listTasks", params), "InvalidParams", "InvalidRequest");
    },
  },
  {
    name: "bad-state",
    says: "A state that does not exist cannot be listed.",
    claims: [should("v1-S24", "§3.1.4, §6.5")],
    bindings: WRITERS,
    async run(scene) {
      const params = { ...scene.requests.list(), status: "CONVOKE_CHECK" };
      await scene.refused(scene.call("listTasks", params), "InvalidParams", "InvalidRequest");
    },
  },
];

async function list(
  scene: Scene,
  request: Parameters<Scene["requests"]["list"]>[0],
): Promise<Page> {
  const { result, exchange } = await scene.served(
    scene.call("listTasks", scene.requests.list(request)),
    "a list of tasks",
  );
  const tasks = listAt(result, "tasks").map(seenTask);
  if (tasks.includes(undefined)) throw new Failed("a list of tasks, each with an id", exchange);
  const seen = tasks.filter((task) => task !== undefined);
  return { tasks: seen, token: textAt(result, "nextPageToken"), json: result, exchange };
}

/** At least two tasks, of two contexts. */
async function twoTasks(scene: Scene): Promise<void> {
  await finished(scene);
  await scene.stage.once.get("a second task", () => sendForTask(scene, scene.settings.message));
}
