import { must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Scene } from "../scene/scene.ts";
import type { Story } from "../scene/story.ts";
import { mayBeLast, needsStreaming } from "../scene/streams.ts";
import { finished, getTask, isAtRest, working } from "../scene/tasks.ts";
import { Failed, Skipped } from "../verdict.ts";
import type { Opened } from "../wire/call.ts";

const UNKNOWN = "convoke-check-no-such-task";

/** Streams of tasks that are under way already. */
export const SUBSCRIPTIONS: readonly Probe[] = [
  {
    name: "subscribe-unknown",
    says: "Subscribing to a task that does not exist is refused as TaskNotFound.",
    claims: [must("v1-S18", "§3.1.6"), should("v03-S11", "§7.9, §8.2")],
    async run(scene) {
      needsStreaming(scene);
      const params = scene.requests.subscribe(UNKNOWN);
      await scene.refusedStream("subscribeToTask", params, "TaskNotFound");
    },
  },
  {
    name: "subscribe-ended",
    says: "Subscribing to a task that has ended is refused as UnsupportedOperation.",
    claims: [must("v1-S18", "§3.1.6")],
    async run(scene) {
      needsStreaming(scene);
      const params = scene.requests.subscribe((await finished(scene)).value.taskId);
      await scene.refusedStream("subscribeToTask", params, "UnsupportedOperation");
    },
  },
  {
    name: "subscribe",
    says: "A subscription begins with the task and lasts until it ends.",
    claims: [must("v1-S17", "§3.1.6")],
    async run(scene) {
      const { taskId } = (await begun(scene)).value;
      const { events, exchange, ended } = await scene.read(await subscribe(scene, taskId));
      if (events[0]?.kind !== "task") throw new Failed("the task first", exchange);
      const last = events.at(-1);
      if (ended && last !== undefined && mayBeLast(last)) return;
      throw new Failed("a stream until the task ends", exchange);
    },
  },
  {
    name: "resubscribe",
    says: "A stream that was left can be gone on with.",
    claims: [must("v03-S5", "§7.9")],
    async run(scene) {
      const { taskId } = (await begun(scene)).value;
      const { events, exchange, ended } = await scene.read(await subscribe(scene, taskId));
      const last = events.at(-1);
      if (ended && last !== undefined && mayBeLast(last)) return;
      throw new Failed("a stream until the task ends", exchange);
    },
  },
  {
    name: "two-readers",
    says: "All streams of a task tell the same events in the same order.",
    claims: [must("v1-S16", "§3.5.2")],
    async run(scene) {
      const { taskId } = (await begun(scene)).value;
      const first = await subscribe(scene, taskId);
      const second = await subscribe(scene, taskId);
      const stories = await Promise.all([scene.read(first), scene.read(second)]);
      const [longer = [], shorter = []] = stories
        .map(updatesIn)
        .toSorted((a, b) => b.length - a.length);
      if (shorter.length === 0) throw new Skipped("the task was over too soon: a longer --slow");
      if (String(longer.slice(-shorter.length)) === String(shorter)) return;
      throw new Failed(`the same events as ${longer.join(" ")}`, stories[1].exchange);
    },
  },
  {
    name: "one-leaves",
    says: "Closing one stream of a task does nothing to the others.",
    claims: [must("v1-S16", "§3.5.2")],
    async run(scene) {
      const { taskId } = (await begun(scene)).value;
      const staying = await subscribe(scene, taskId);
      const leaving = await subscribe(scene, taskId);
      await leaving.events.next();
      await leaving.events.return();
      const { events, exchange, ended } = await scene.read(staying);
      const last = events.at(-1);
      if (ended && last !== undefined && mayBeLast(last)) return;
      throw new Failed("the rest of the task, also when another reader leaves", exchange);
    },
  },
  {
    name: "second-message",
    says: "A message to a task that is worked on does not break the streams of that task.",
    claims: [must("v1-S14", "§3.1.2")],
    async run(scene) {
      const { taskId, contextId } = (await begun(scene)).value;
      const staying = await subscribe(scene, taskId);
      const params = scene.requests.send(
        scene.settings.message,
        { taskId, contextId },
        { blocking: false },
      );
      // Whether it is taken is up to the agent.
      await scene.call("sendMessage", params);
      const { events, items, exchange, ended } = await scene.read(staying);
      const last = events.at(-1);
      const isWhole = ended && items.every(({ error }) => error === undefined);
      if (isWhole && last !== undefined && mayBeLast(last)) return;
      throw new Failed("the stream until the task ends", exchange);
    },
  },
];

function begun(scene: Scene) {
  needsStreaming(scene);
  return working(scene);
}

async function subscribe(scene: Scene, taskId: string): Promise<Opened> {
  const params = scene.requests.subscribe(taskId);
  const opened = await scene.speaker.open({ operation: "subscribeToTask", params });
  if (opened.kind === "opened") return opened;
  const { value } = await getTask(scene, taskId);
  if (isAtRest(value)) throw new Skipped("the task was over too soon: a longer --slow");
  throw new Failed("a stream, not an error", opened.exchange);
}

/** The updates of a story as text; the task it begins with depends on when that was. */
function updatesIn({ events }: Story): readonly string[] {
  const updates = events.filter(({ kind }) => kind === "status" || kind === "artifact");
  return updates.map(({ json }) => JSON.stringify(json));
}
