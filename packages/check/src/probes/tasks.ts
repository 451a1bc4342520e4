import { type Probe, must, should } from "./probe.ts";
import type { Scene } from "../scene/scene.ts";
import { type ObservedTask, parseTask, textOfParts } from "../scene/observed.ts";
import {
  UNKNOWN_TASK,
  askingTask,
  finishedTask,
  getTask,
  isTerminalEvent,
  ordinaryResult,
  requireStreaming,
  sendForTask,
  slowText,
  workingTask,
} from "../scene/fixtures.ts";
import { type Exchange, Failed, Skipped } from "../wire/exchange.ts";
import { at, listAt, textAt } from "../wire/json.ts";
import { hasReason } from "../wire/errors.ts";
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
      await twoTasks(scene);
      const { tasks, exchange } = await list(scene, {});
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
      await twoTasks(scene);
      const { tasks, exchange } = await list(scene, { state: "working" });
      if (tasks.every(({ state }) => state === "working")) return;
      throw new Failed("only tasks in the working state", exchange);
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
  {
    name: "bad-page-size",
    says: "A negative page size is rejected.",
    claims: [should("v1-S24", "§3.1.4, §6.5")],
    async run(scene) {
      const params = { ...scene.requests.list(), pageSize: -1 };
      await scene.expectError(scene.call("listTasks", params), "InvalidParams", "InvalidRequest");
    },
  },
  {
    name: "bad-state",
    says: "An unknown state is rejected.",
    claims: [should("v1-S24", "§3.1.4, §6.5")],
    bindings: JSON_BINDINGS,
    async run(scene) {
      const params = { ...scene.requests.list(), status: "CONVOKE_CHECK" };
      await scene.expectError(scene.call("listTasks", params), "InvalidParams", "InvalidRequest");
    },
  },
];

const ANSWER = "convoke check answers";

/** Reading tasks and their history. */
export const TASKS: readonly Probe[] = [
  {
    name: "get",
    says: "getTask returns the current snapshot of a task.",
    claims: [must("v1-S19", "§3.1.3"), must("v03-S4", "§7.3")],
    async run(scene) {
      const { value: task } = await finishedTask(scene);
      const { value, exchange } = await getTask(scene, task.taskId);
      if (value.state !== task.state) throw new Failed(`the state ${task.state}`, exchange);
    },
  },
  {
    name: "get-unknown",
    says: "Getting an unknown task is rejected with TaskNotFound.",
    claims: [must("v1-S19", "§3.1.3"), should("v03-S11", "§7.3, §8.2")],
    async run(scene) {
      await scene.expectError(
        scene.call("getTask", scene.requests.get(UNKNOWN_TASK)),
        "TaskNotFound",
      );
    },
  },
  {
    name: "same-tasks",
    says: "A task created at another interface is visible here as well.",
    claims: [must("v1-S5", "§5.1"), must("v03-S10", "§3.4.1")],
    async run(scene) {
      const [other] = scene.stage.siblings;
      if (other === undefined) throw new Skipped("this is the first interface of its version");
      const { value } = await finishedTask(scene.withStage(other));
      await getTask(scene, value.taskId);
    },
  },
  {
    name: "history-limit",
    says: "The history has no more messages than requested.",
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
    says: "A historyLength of 0 omits the history.",
    claims: [should("v1-S21", "§3.2.4")],
    async run(scene) {
      const { taskId } = (await finishedTask(scene)).value;
      const { value, exchange } = await getTask(scene, taskId, 0);
      if (at(value.json, "history") === undefined) return;
      throw new Failed("a task without a history", exchange);
    },
  },
  {
    name: "history-in-order",
    says: "The history is in chronological order.",
    claims: [should("v1-S21", "§3.2.4")],
    async run(scene) {
      const { taskId } = await taskWithHistory(scene);
      const { value, exchange } = await getTask(scene, taskId, 100);
      const texts = value.history.map(textOfParts);
      const asked = texts.indexOf(scene.settings.ask ?? scene.settings.message);
      const answered = texts.lastIndexOf(ANSWER);
      if (asked === -1 || answered === -1)
        throw new Skipped("the server does not keep these messages in the history");
      if (asked > answered) throw new Failed("the question before its answer", exchange);
    },
  },
  {
    name: "artifacts",
    says: "A completed task has its results in artifacts.",
    claims: [should("v1-S38", "§3.7"), should("v03-S16", "§6.1")],
    async run(scene) {
      const { value, exchange } = await ordinaryResult(scene);
      if (value.kind === "message") throw new Skipped("the agent answers with a message");
      if (value.state !== "completed") throw new Skipped("the ordinary task does not complete");
      if (value.artifacts.length === 0) throw new Failed("a task with artifacts", exchange);
    },
  },
];

/** A task with at least two messages, created once. */
function taskWithHistory(scene: Scene): Promise<ObservedTask> {
  return scene.stage.shared.get("a task with a history", async () => {
    const { value } = await askingTask(scene);
    const { taskId, contextId } = value;
    await sendForTask(scene, ANSWER, { taskId, contextId });
    return value;
  });
}

/** Canceling tasks. */
export const CANCEL: readonly Probe[] = [
  {
    name: "cancel-unknown",
    says: "Canceling an unknown task is rejected with TaskNotFound.",
    claims: [must("v1-S25", "§3.1.5"), should("v03-S11", "§7.4, §8.2")],
    async run(scene) {
      await scene.expectError(
        scene.call("cancelTask", scene.requests.cancel(UNKNOWN_TASK)),
        "TaskNotFound",
      );
    },
  },
  {
    name: "cancel-ended",
    says: "Canceling a finished task is rejected with TaskNotCancelable.",
    claims: [must("v1-S25", "§3.1.5"), should("v03-S15", "§7.4, §8.2")],
    async run(scene) {
      const { taskId, state } = (await finishedTask(scene)).value;
      if (state === "canceled") throw new Skipped("the ordinary task was canceled");
      await scene.expectError(
        scene.call("cancelTask", scene.requests.cancel(taskId)),
        "TaskNotCancelable",
      );
    },
  },
  {
    name: "cancel",
    says: "Canceling a task in progress returns the canceled task.",
    claims: [must("v1-S25", "§3.1.5"), must("v03-S4", "§7.4")],
    async run(scene) {
      await cancel(scene, (await workingTask(scene)).value.taskId);
    },
  },
  {
    name: "cancel-again",
    says: "Canceling a task twice returns the canceled task, or TaskNotCancelable.",
    claims: [must("v1-S25", "§3.1.5, §3.3.1"), should("v03-S15", "§7.4, §8.2")],
    async run(scene) {
      const { taskId } = (await workingTask(scene)).value;
      await cancel(scene, taskId);
      const response = await scene.call("cancelTask", scene.requests.cancel(taskId));
      if (response.kind === "error") {
        await scene.expectError(Promise.resolve(response), "TaskNotCancelable");
      } else if (parseTask(response.result)?.state !== "canceled") {
        throw new Failed("the canceled task, or TaskNotCancelable", response.exchange);
      }
    },
  },
  {
    name: "cancel-ends-stream",
    says: "The stream of a canceled task reports the cancellation and ends.",
    claims: [must("v1-S14", "§3.1.2")],
    async run(scene) {
      requireStreaming(scene);
      const params = scene.requests.send(await slowText(scene));
      const opened = await scene.open("sendStreamingMessage", params);
      const first = await opened.events.next();
      const task = first.done === true ? undefined : parseTask(taskIn(first.value.json));
      if (task === undefined) throw new Skipped("the stream does not start with a task");
      await cancel(scene, task.taskId);
      const stream = await scene.readStream(opened);
      if (stream.ended && stream.events.some(isTerminalEvent)) return;
      throw new Failed("a canceled status, then the end of the stream", stream.exchange);
    },
  },
];

/** Cancels a task; skips the probe if the agent does not support canceling. */
async function cancel(scene: Scene, taskId: string): Promise<void> {
  const response = await scene.call("cancelTask", scene.requests.cancel(taskId));
  if (response.kind === "error") {
    if (hasReason(response.error, "TaskNotCancelable", scene.client.version)) {
      throw new Skipped("the agent does not support canceling");
    }
    throw new Failed("the canceled task", response.exchange);
  }
  if (parseTask(response.result)?.state === "canceled") return;
  const { value, exchange } = await getTask(scene, taskId);
  if (value.state !== "canceled") throw new Failed("a canceled task", exchange);
}

function taskIn(json: unknown): unknown {
  return (json as { readonly task?: unknown } | undefined)?.task;
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
