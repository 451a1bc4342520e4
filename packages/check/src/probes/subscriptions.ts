import { type Probe, must, should } from "./probe.ts";
import type { Scene } from "../scene/scene.ts";
import type { RecordedStream } from "../scene/observed.ts";
import {
  UNKNOWN_TASK,
  finishedTask,
  getTask,
  isAtRest,
  mayEndStream,
  requireStreaming,
  workingTask,
} from "../scene/fixtures.ts";
import { Failed, Skipped } from "../wire/exchange.ts";
import type { OpenStream } from "../wire/client.ts";

/** Subscribing to tasks in progress. */
export const SUBSCRIPTIONS: readonly Probe[] = [
  {
    name: "subscribe-unknown",
    says: "Subscribing to an unknown task is rejected with TaskNotFound.",
    claims: [must("v1-S18", "§3.1.6"), should("v03-S11", "§7.9, §8.2")],
    async run(scene) {
      requireStreaming(scene);
      const params = scene.requests.subscribe(UNKNOWN_TASK);
      await scene.expectStreamError("subscribeToTask", params, "TaskNotFound");
    },
  },
  {
    name: "subscribe-ended",
    says: "Subscribing to a finished task is rejected with UnsupportedOperation.",
    claims: [must("v1-S18", "§3.1.6")],
    async run(scene) {
      requireStreaming(scene);
      const params = scene.requests.subscribe((await finishedTask(scene)).value.taskId);
      await scene.expectStreamError("subscribeToTask", params, "UnsupportedOperation");
    },
  },
  {
    name: "subscribe",
    says: "A subscription starts with the task and lasts until the task ends.",
    claims: [must("v1-S17", "§3.1.6")],
    async run(scene) {
      const { taskId } = (await startTask(scene)).value;
      const { events, exchange, ended } = await scene.readStream(await subscribe(scene, taskId));
      if (events[0]?.kind !== "task") throw new Failed("the task as the first event", exchange);
      const last = events.at(-1);
      if (ended && last !== undefined && mayEndStream(last)) return;
      throw new Failed("a stream until the task ends", exchange);
    },
  },
  {
    name: "resubscribe",
    says: "A client can resubscribe to a task in progress.",
    claims: [must("v03-S5", "§7.9")],
    async run(scene) {
      const { taskId } = (await startTask(scene)).value;
      const { events, exchange, ended } = await scene.readStream(await subscribe(scene, taskId));
      const last = events.at(-1);
      if (ended && last !== undefined && mayEndStream(last)) return;
      throw new Failed("a stream until the task ends", exchange);
    },
  },
  {
    name: "two-readers",
    says: "All streams of a task have the same events in the same order.",
    claims: [must("v1-S16", "§3.5.2")],
    async run(scene) {
      const { taskId } = (await startTask(scene)).value;
      const first = await subscribe(scene, taskId);
      const second = await subscribe(scene, taskId);
      const stories = await Promise.all([scene.readStream(first), scene.readStream(second)]);
      const [longer = [], shorter = []] = stories
        .map(updatesIn)
        .toSorted((a, b) => b.length - a.length);
      if (shorter.length === 0)
        throw new Skipped("the task finished too soon; choose a slower message (option: slow)");
      if (String(longer.slice(-shorter.length)) === String(shorter)) return;
      throw new Failed(`the same events as ${longer.join(" ")}`, stories[1].exchange);
    },
  },
  {
    name: "one-leaves",
    says: "Closing one stream of a task does not affect the others.",
    claims: [must("v1-S16", "§3.5.2")],
    async run(scene) {
      const { taskId } = (await startTask(scene)).value;
      const staying = await subscribe(scene, taskId);
      const leaving = await subscribe(scene, taskId);
      await leaving.events.next();
      await leaving.events.return();
      const { events, exchange, ended } = await scene.readStream(staying);
      const last = events.at(-1);
      if (ended && last !== undefined && mayEndStream(last)) return;
      throw new Failed("the remaining events, even if another reader disconnects", exchange);
    },
  },
  {
    name: "second-message",
    says: "A message to a task in progress does not break the streams of that task.",
    claims: [must("v1-S14", "§3.1.2")],
    async run(scene) {
      const { taskId, contextId } = (await startTask(scene)).value;
      const staying = await subscribe(scene, taskId);
      const params = scene.requests.send(
        scene.settings.message,
        { taskId, contextId },
        { blocking: false },
      );
      // The agent may accept or reject it.
      await scene.call("sendMessage", params);
      const { events, items, exchange, ended } = await scene.readStream(staying);
      const last = events.at(-1);
      const isWhole = ended && items.every(({ error }) => error === undefined);
      if (isWhole && last !== undefined && mayEndStream(last)) return;
      throw new Failed("a stream until the task ends", exchange);
    },
  },
];

function startTask(scene: Scene) {
  requireStreaming(scene);
  return workingTask(scene);
}

async function subscribe(scene: Scene, taskId: string): Promise<OpenStream> {
  const params = scene.requests.subscribe(taskId);
  const opened = await scene.client.open({ operation: "subscribeToTask", params });
  if (opened.kind === "stream") return opened;
  const { value } = await getTask(scene, taskId);
  if (isAtRest(value))
    throw new Skipped("the task finished too soon; choose a slower message (option: slow)");
  throw new Failed("a stream, not an error", opened.exchange);
}

/** The updates of a stream as text, without the first task: that depends on when the stream was opened. */
function updatesIn({ events }: RecordedStream): readonly string[] {
  const updates = events.filter(({ kind }) => kind === "status" || kind === "artifact");
  return updates.map(({ json }) => JSON.stringify(json));
}
