import { randomUUID } from "node:crypto";
import { type Probe, must, should } from "./probe.ts";
import type { Scene } from "../scene/scene.ts";
import { type ObservedTask, parseTask } from "../scene/observed.ts";
import { finishedTask, sendForTask } from "../scene/fixtures.ts";
import { type Exchange, Failed, Skipped } from "../wire/exchange.ts";
import { at, listAt, textAt } from "../wire/json.ts";
import { JSON_BINDINGS } from "../wire/client.ts";

/** Listing tasks, which only 1.0 has. */
export const LISTS: readonly Probe[] = [
  {
    name: "list",
    says: "A list contains the tasks of the caller.",
    claims: [must("v1-S22", "§3.1.4")],
    async run(scene) {
      const { value: task } = await finishedTask(scene);
      const { tasks, exchange } = await list(scene, { contextId: task.contextId });
      if (!tasks.some(({ taskId }) => taskId === task.taskId)) {
        throw new Failed(`a list with the task ${task.taskId}`, exchange);
      }
    },
  },
  {
    name: "newest-first",
    says: "Tasks are sorted by status time, newest first.",
    claims: [must("v1-S22", "§3.1.4")],
    async run(scene) {
      const { contextId } = await contextWithTasks(scene);
      const { tasks, exchange } = await list(scene, { contextId });
      const times = tasks.map(({ json }) => Date.parse(textAt(json, "status", "timestamp")));
      if (tasks.length < 2 || times.some(Number.isNaN)) {
        throw new Skipped("the list has fewer than two tasks with timestamps");
      }
      if (times.every((time, index) => time <= (times[index - 1] ?? time))) return;
      throw new Failed("descending timestamps", exchange);
    },
  },
  {
    name: "pages",
    says: "A page token leads to the next page, which has other tasks.",
    claims: [must("v1-S22", "§3.1.4")],
    async run(scene) {
      await twoTasks(scene);
      const first = await list(scene, { pageSize: 1 });
      if (first.tasks.length !== 1) throw new Failed("a page of one task", first.exchange);
      if (first.token === "") throw new Failed("a nextPageToken", first.exchange);
      const second = await list(scene, { pageSize: 1, pageToken: first.token });
      const [task] = second.tasks;
      if (task !== undefined && task.taskId !== first.tasks[0]?.taskId) return;
      throw new Failed("a different task on the second page", second.exchange);
    },
  },
  {
    name: "all-pages",
    says: "The pages of a list contain each task once.",
    claims: [must("v1-S22", "§3.1.4")],
    async run(scene) {
      const { contextId, taskIds } = await contextWithTasks(scene);
      const found: string[] = [];
      let pageToken = "";
      do {
        const page = await list(scene, { contextId, pageSize: 2, ...(pageToken && { pageToken }) });
        found.push(...page.tasks.map(({ taskId }) => taskId));
        pageToken = page.token;
      } while (pageToken !== "" && found.length <= taskIds.length);
      if (String(found.toSorted()) === String(taskIds.toSorted())) return;
      throw new Failed(`the tasks ${taskIds.join(", ")}, each on one page`);
    },
  },
  {
    name: "total-size",
    says: "The totalSize of a page counts the tasks of all pages.",
    claims: [must("v1-S23", "§3.1.4")],
    async run(scene) {
      const { contextId, taskIds } = await contextWithTasks(scene);
      const { json, exchange } = await list(scene, { contextId, pageSize: 1 });
      const expected = `a totalSize of ${taskIds.length}`;
      if (at(json, "totalSize") !== taskIds.length) throw new Failed(expected, exchange);
    },
  },
  {
    name: "page-size",
    says: "A page has at most 50 tasks unless the caller asks for another size.",
    claims: [must("v1-S24", "§3.1.4")],
    async run(scene) {
      const { contextId } = (await finishedTask(scene)).value;
      const { pageSize: _, ...params } = scene.requests.list({ contextId });
      const { result, exchange } = await scene.expectResult(
        scene.call("listTasks", params),
        "a list of tasks",
      );
      if (at(result, "pageSize") !== 50) throw new Failed("a pageSize of 50", exchange);
    },
  },
  {
    name: "page-fields",
    says: "Every page has nextPageToken, pageSize and totalSize, even the last.",
    claims: [must("v1-S23", "§3.1.4")],
    bindings: JSON_BINDINGS,
    async run(scene) {
      const { contextId } = (await finishedTask(scene)).value;
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
    says: "Artifacts are included only on request.",
    claims: [must("v1-S23", "§3.1.4")],
    async run(scene) {
      const { value: task } = await finishedTask(scene);
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
    says: "Filtering by context returns only tasks of that context.",
    claims: [must("v1-S22", "§3.1.4")],
    async run(scene) {
      await twoTasks(scene);
      const { contextId } = (await finishedTask(scene)).value;
      const { tasks, exchange } = await list(scene, { contextId });
      if (tasks.every((task) => task.contextId === contextId)) return;
      throw new Failed(`only tasks of the context ${contextId}`, exchange);
    },
  },
  {
    name: "by-state",
    says: "Filtering by state returns only tasks in that state.",
    claims: [must("v1-S22", "§3.1.4")],
    async run(scene) {
      const { taskId, contextId, state = "completed" } = (await finishedTask(scene)).value;
      const working = await list(scene, { contextId, state: "working" });
      if (working.tasks.some((task) => task.state !== "working"))
        throw new Failed("only tasks in the working state", working.exchange);
      const { tasks, exchange } = await list(scene, { contextId, state });
      if (tasks.some((task) => task.taskId === taskId)) return;
      throw new Failed(`a list with the task ${taskId}, which is ${state}`, exchange);
    },
  },
  {
    name: "by-time",
    says: "Filtering by status time returns only tasks that changed after that time.",
    claims: [must("v1-S22", "§3.1.4")],
    async run(scene) {
      await finishedTask(scene);
      const statusTimestampAfter = "2999-01-01T00:00:00.000Z";
      const { tasks, exchange } = await list(scene, { statusTimestampAfter });
      if (tasks.length > 0) throw new Failed("no tasks", exchange);
    },
  },
  {
    name: "history-limit",
    says: "Listed tasks have no more history than requested.",
    claims: [must("v1-S20", "§3.2.4")],
    async run(scene) {
      await finishedTask(scene);
      const { tasks, exchange } = await list(scene, { historyLength: 0 });
      if (tasks.every(({ history }) => history.length === 0)) return;
      throw new Failed("tasks without a history", exchange);
    },
  },
  ...(
    [
      ["bad-page-size", "A negative page size is rejected.", { pageSize: -1 }],
      ["no-page-size", "A page size of 0 is rejected.", { pageSize: 0 }],
      ["large-page-size", "A page size above 100 is rejected.", { pageSize: 101 }],
      ["bad-page-token", "A page token of unknown origin is rejected.", { pageToken: "no token" }],
    ] as const
  ).map(([name, says, wrong]) => rejectedList(name, says, wrong)),
  // A protobuf enum and a protobuf timestamp cannot hold these values.
  ...(
    [
      ["bad-state", "An unknown state is rejected.", { status: "CONVOKE_CHECK" }],
      ["bad-time", "A time that is none is rejected.", { statusTimestampAfter: "yesterday" }],
    ] as const
  ).map(([name, says, wrong]) => ({ ...rejectedList(name, says, wrong), bindings: JSON_BINDINGS })),
];

/** A list whose params contain something wrong. */
function rejectedList(name: string, says: string, wrong: object): Probe {
  return {
    name,
    says,
    claims: [should("v1-S24", "§3.1.4, §6.5")],
    async run(scene) {
      const params = { ...scene.requests.list(), ...wrong };
      await scene.expectError(scene.call("listTasks", params), "InvalidParams", "InvalidRequest");
    },
  };
}

interface Page {
  readonly tasks: readonly ObservedTask[];
  readonly token: string;
  readonly json: unknown;
  readonly exchange: Exchange;
}

async function list(
  scene: Scene,
  request: Parameters<Scene["requests"]["list"]>[0],
): Promise<Page> {
  const { result, exchange } = await scene.expectResult(
    scene.call("listTasks", scene.requests.list(request)),
    "a list of tasks",
  );
  const tasks = listAt(result, "tasks").map(parseTask);
  if (tasks.includes(undefined)) throw new Failed("a list of tasks, each with an id", exchange);
  const seen = tasks.filter((task) => task !== undefined);
  return { tasks: seen, token: textAt(result, "nextPageToken"), json: result, exchange };
}

/** Makes sure that there are at least two tasks, in two contexts. */
async function twoTasks(scene: Scene): Promise<void> {
  await finishedTask(scene);
  await scene.stage.shared.get("a second task", () => sendForTask(scene, scene.settings.message));
}

/** Three tasks in a context of their own, created once. */
function contextWithTasks(
  scene: Scene,
): Promise<{ readonly contextId: string; readonly taskIds: readonly string[] }> {
  return scene.stage.shared.get("a context with three tasks", async () => {
    const contextId = randomUUID();
    const taskIds: string[] = [];
    while (taskIds.length < 3) {
      const { value } = await sendForTask(scene, scene.settings.message, { contextId });
      if (value.contextId !== contextId) {
        throw new Skipped("the server does not accept a contextId of the caller");
      }
      taskIds.push(value.taskId);
    }
    return { contextId, taskIds };
  });
}
