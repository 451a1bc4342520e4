import type { A2APart } from "@convoke/protocol";
import { type Probe, must, should } from "./probe.ts";
import type { Scene } from "../scene/scene.ts";
import { parseResult, parseTask, textOfParts, isTerminalEvent } from "../scene/observed.ts";
import {
  ANSWER,
  UNKNOWN_TASK,
  askingTask,
  askingText,
  finishedTask,
  getTask,
  ordinaryResult,
  requireStreaming,
  sendForTask,
  slowText,
  taskWithHistory,
  workingTask,
} from "../scene/fixtures.ts";
import { Failed, Skipped } from "../wire/exchange.ts";
import { at, textAt } from "../wire/json.ts";
import { hasReason } from "../wire/errors.ts";

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
    name: "as-it-stands",
    says: "getTask returns a task that has changed as it is now.",
    claims: [must("v1-S19", "§3.1.3"), must("v03-S4", "§7.3")],
    async run(scene) {
      const { taskId } = (await workingTask(scene)).value;
      const before = await getTask(scene, taskId);
      await cancel(scene, taskId);
      const { value, exchange } = await getTask(scene, taskId);
      if (value.state !== "canceled") throw new Failed("the canceled task", exchange);
      if (before.value.state !== "canceled") return;
      throw new Failed("the task in progress before it was canceled", before.exchange);
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
    name: "unusual-content",
    says: "What is accepted at one interface can be read at all others.",
    claims: [must("v1-S5", "§5.1"), must("v03-S10", "§3.4.1")],
    async run(scene) {
      const writers = [scene.stage, ...scene.stage.siblings].map((stage) => scene.withStage(stage));
      for (const writer of writers.filter(({ client }) => client.binding !== "grpc")) {
        for (const part of UNUSUAL_PARTS) {
          const params = writer.requests.send(scene.settings.message, { parts: [part] });
          const response = await writer.call("sendMessage", params);
          const result = response.kind === "result" ? parseResult(response.result) : undefined;
          if (result?.kind !== "task") continue;
          scene.stage.unfinishedTasks.push(result.taskId);
          await getTask(scene, result.taskId);
        }
      }
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
    name: "history-of-send",
    says: "The result of a send has no more history than requested.",
    claims: [must("v1-S20", "§3.2.4"), should("v03-S4", "§7.1.1")],
    async run(scene) {
      const { taskId, contextId } = (await askingTask(scene)).value;
      const { value, exchange } = await sendForTask(
        scene,
        ANSWER,
        { taskId, contextId },
        { historyLength: 1 },
      );
      if (value.history.length > 1) throw new Failed("a history of at most one message", exchange);
    },
  },
  {
    name: "history-latest",
    says: "A limited history has the latest messages.",
    claims: [should("v1-S21", "§3.2.4")],
    async run(scene) {
      const { taskId } = await taskWithHistory(scene);
      const last = (await getTask(scene, taskId)).value.history.at(-1);
      const { value, exchange } = await getTask(scene, taskId, 1);
      const [only] = value.history;
      if (last === undefined || only === undefined) throw new Skipped("the task has no history");
      if (textAt(only, "messageId") === textAt(last, "messageId")) return;
      throw new Failed(`only the message "${textOfParts(last)}"`, exchange);
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
      const asked = texts.indexOf(await askingText(scene));
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

/** Parts that a server may reject. What it accepts, it must be able to return on every binding. */
const UNUSUAL_PARTS: readonly A2APart[] = [
  { kind: "file", file: { bytes: "***" } },
  { kind: "file", file: { bytes: "_-8" } },
  { kind: "text", text: "half \ud800" },
  ...[90, 110, 1000].map((levels): A2APart => ({ kind: "data", data: nested(levels) })),
  { kind: "data", data: { most: Number.MAX_VALUE } },
  { kind: "data", data: JSON.parse('{"__proto__":1}') },
];

function nested(levels: number): unknown {
  let value: unknown = "deep";
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
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
    name: "cancel-asking",
    says: "A task that waits for its caller can be canceled.",
    claims: [must("v1-S25", "§3.1.5"), must("v03-S4", "§7.4")],
    async run(scene) {
      await cancel(scene, (await askingTask(scene)).value.taskId);
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
