import { isTerminal } from "@convoke/protocol";
import { type Probe, must, should } from "./probe.ts";
import type { Scene } from "../scene/scene.ts";
import {
  type ObservedEvent,
  type ObservedTask,
  type RecordedStream,
  textOfParts,
  isTerminalEvent,
} from "../scene/observed.ts";
import {
  UNKNOWN_TASK,
  askingTask,
  askingText,
  finishedTask,
  getTask,
  isAtRest,
  mayEndStream,
  ordinaryStream,
  requireStreaming,
  slowStream,
  slowText,
  streamMessage,
  taskIdIn,
  workingTask,
} from "../scene/fixtures.ts";
import { Failed, Skipped, withReceived } from "../wire/exchange.ts";
import { textAt } from "../wire/json.ts";
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

/** The stream of a message. */
export const STREAMS: readonly Probe[] = [
  {
    name: "ends",
    says: "A stream ends when its task does, and no updates follow.",
    claims: [must("v1-S14", "§3.1.2"), must("v03-S7", "§3.3.1, §7.2")],
    async run(scene) {
      const { events, exchange } = await ordinaryStream(scene);
      const last = events.at(-1);
      if (last === undefined || !mayEndStream(last)) {
        throw new Failed(
          "a message, or a terminal or interrupted status, as the last event",
          exchange,
        );
      }
      const place = events.findIndex(isTerminalEvent);
      // The final task may be sent once more (1.0 §11.7).
      const after = place === -1 ? [] : events.slice(place + 1);
      if (after.every(({ kind }) => kind === "task")) return;
      throw new Failed("no update after the terminal status", exchange);
    },
  },
  {
    name: "first",
    says: "A stream starts with the task, or is a single message.",
    claims: [must("v1-S14", "§3.1.2")],
    async run(scene) {
      const { events, exchange } = await ordinaryStream(scene);
      const [first] = events;
      if (first?.kind === "message" && events.length === 1) return;
      if (first?.kind !== "task")
        throw new Failed("a task or a message as the first event", exchange);
      if (events.some(({ kind }) => kind === "message")) {
        throw new Failed("either one message, or a task and its updates", exchange);
      }
    },
  },
  {
    name: "something",
    says: "A stream has at least one event.",
    claims: [must("v03-S5", "§7.2")],
    async run(scene) {
      const { events, exchange } = await ordinaryStream(scene);
      if (events.length === 0) throw new Failed("events", exchange);
    },
  },
  {
    name: "at-once",
    says: "A stream delivers events while the agent is still working.",
    claims: [must("v1-S14", "§3.1.2"), must("v03-S7", "§3.3.1")],
    async run(scene) {
      requireStreaming(scene);
      const params = scene.requests.send(await slowText(scene));
      const opened = await scene.open("sendStreamingMessage", params);
      const { events, exchange } = await scene.readStream(opened, () => true);
      const taskId = taskIdIn(events);
      if (taskId === "") throw new Skipped("the agent answers with a message");
      scene.stage.unfinishedTasks.push(taskId);
      if (!isAtRest((await getTask(scene, taskId)).value)) return;
      throw new Failed("the first event before the task ends", exchange);
    },
  },
  {
    name: "one-task",
    says: "All events of a stream belong to the same task.",
    claims: [must("v1-S14", "§3.1.2"), must("v03-S7", "§7.2")],
    async run(scene) {
      const { events, exchange } = await ordinaryStream(scene);
      const taskId = taskIdIn(events);
      const isOther = (event: ObservedEvent) => event.kind !== "message" && event.taskId !== taskId;
      if (events.some(isOther)) throw new Failed("the same taskId in all events", exchange);
    },
  },
  {
    name: "order",
    says: "Events arrive in the order in which they happened.",
    claims: [must("v1-S15", "§3.5.2"), should("v03-S7", "§3.3.1")],
    run: expectOrder,
  },
  {
    name: "whole",
    says: "The events of a stream add up to the task.",
    claims: [must("v1-S15", "§3.5.2"), should("v03-S7", "§3.3.1")],
    async run(scene) {
      const { events, exchange } = await longestStream(scene);
      const taskId = taskIdIn(events);
      if (taskId === "") throw new Skipped("the agent answers with a message");
      const { value } = await getTask(scene, taskId);
      if (value.artifacts.length === 0) throw new Skipped("the task has no artifacts");
      for (const [artifactId, text] of textsIn(value)) {
        if (textTold(events, artifactId) === text) continue;
        throw new Failed(`events that add up to the artifact "${text.slice(0, 80)}"`, exchange);
      }
    },
  },
];

async function expectOrder(scene: Scene): Promise<void> {
  const { events, exchange } = await longestStream(scene);
  const times = events
    .filter(({ kind }) => kind === "status")
    .map(({ json }) => Date.parse(textAt(json, "status", "timestamp")))
    .filter((time) => !Number.isNaN(time));
  if (times.some((time, index) => time < (times[index - 1] ?? time))) {
    throw new Failed("status timestamps that never decrease", exchange);
  }
  const states = events.flatMap((event) => (event.kind === "status" ? [event.state] : []));
  const started = states.findIndex((state) => state !== "submitted" && state !== undefined);
  if (started !== -1 && states.slice(started).includes("submitted")) {
    throw new Failed("no submitted status after the task has started", exchange);
  }
  const ended = states.findIndex((state) => state !== undefined && isTerminal(state));
  if (ended !== -1 && ended < states.length - 1) {
    throw new Failed("no status after the terminal one", exchange);
  }
  const opened = new Set<string>();
  for (const event of events) {
    if (event.kind === "task") for (const [artifactId] of textsIn(event)) opened.add(artifactId);
    if (event.kind !== "artifact") continue;
    if (event.append && !opened.has(event.artifactId)) {
      throw new Failed("an artifact that starts without append", exchange);
    }
    opened.add(event.artifactId);
  }
}

/** The slow stream if there is one, because it has more events. */
async function longestStream(scene: Scene) {
  try {
    return await slowStream(scene);
  } catch (error) {
    if (error instanceof Skipped) return ordinaryStream(scene);
    throw error;
  }
}

/** The id and text of each artifact. */
function textsIn({ artifacts }: ObservedTask): readonly (readonly [string, string])[] {
  return artifacts.map(
    (artifact) => [textAt(artifact, "artifactId"), textOfParts(artifact)] as const,
  );
}

function textTold(events: readonly ObservedEvent[], artifactId: string): string {
  let text = "";
  for (const event of events) {
    if (event.kind === "task") {
      text = textsIn(event).find(([id]) => id === artifactId)?.[1] ?? text;
    }
    if (event.kind !== "artifact" || event.artifactId !== artifactId) continue;
    text = event.append ? text + event.text : event.text;
  }
  return text;
}

/** The `final` flag of 0.3, which marks the last status of a stream. */
export const FINALITY: readonly Probe[] = [
  {
    name: "final-word",
    says: "Each status update has a final flag.",
    claims: [must("v03-S21", "§7.2.2")],
    // The other bindings omit false values, so a missing flag proves nothing there.
    bindings: ["jsonrpc"],
    async run(scene) {
      const { events, exchange } = await ordinaryStream(scene);
      for (const event of events) {
        if (event.kind === "status" && typeof event.final !== "boolean") {
          throw new Failed("final: true or false in each status update", exchange);
        }
      }
    },
  },
  {
    name: "final-at-end",
    says: "The last status update of a stream is final, and no other.",
    claims: [must("v03-S21", "§7.2.2")],
    async run(scene) {
      expectFinal(await ordinaryStream(scene));
    },
  },
  {
    name: "final-at-question",
    says: "A status update that ends the stream with a question is final.",
    claims: [should("v03-S21", "§7.2.2, §9.3")],
    async run(scene) {
      requireStreaming(scene);
      await askingTask(scene);
      expectFinal(await streamMessage(scene, await askingText(scene)));
    },
  },
];

function expectFinal({ events, exchange }: RecordedStream): void {
  const statuses = events.flatMap((event) => (event.kind === "status" ? [event] : []));
  const last = statuses.at(-1);
  if (last === undefined) throw new Skipped("the stream has no status update");
  if (last.final !== true) {
    const shown = withReceived(exchange, `a stream that ends after ${JSON.stringify(last.json)}`);
    throw new Failed("final: true in the last status update", shown);
  }
  if (statuses.slice(0, -1).some(({ final }) => final === true)) {
    throw new Failed("final: true only in the last status update", exchange);
  }
}

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
