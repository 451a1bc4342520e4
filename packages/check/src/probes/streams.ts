import { isTerminal } from "@convoke/protocol";
import { must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Scene } from "../scene/scene.ts";
import { type SeenEvent, type SeenTask, textOfParts } from "../scene/seen.ts";
import { isLastWord, mayBeLast, ordinaryStory, slowStory, taskIdOf } from "../scene/streams.ts";
import { getTask } from "../scene/tasks.ts";
import { Failed, Skipped } from "../verdict.ts";
import { textAt } from "../wire/json.ts";

/** What the stream of a message tells. */
export const STREAMS: readonly Probe[] = [
  {
    name: "ends",
    says: "A stream ends when the task does, and nothing is told after that.",
    claims: [must("v1-S14", "§3.1.2"), must("v03-S7", "§3.3.1, §7.2")],
    async run(scene) {
      const { events, exchange } = await ordinaryStory(scene);
      const last = events.at(-1);
      if (last === undefined || !mayBeLast(last)) {
        throw new Failed("a message, or a status that ends or interrupts the task, last", exchange);
      }
      const place = events.findIndex(isLastWord);
      // The task as it is in the end may be told once more (1.0 §11.7).
      const after = place === -1 ? [] : events.slice(place + 1);
      if (after.every(({ kind }) => kind === "task")) return;
      throw new Failed("no update after the task has ended", exchange);
    },
  },
  {
    name: "first",
    says: "A stream begins with the task, or is one message.",
    claims: [must("v1-S14", "§3.1.2")],
    async run(scene) {
      const { events, exchange } = await ordinaryStory(scene);
      const [first] = events;
      if (first?.kind === "message" && events.length === 1) return;
      if (first?.kind !== "task") throw new Failed("a task or a message first", exchange);
      if (events.some(({ kind }) => kind === "message")) {
        throw new Failed("either one message or a task and its updates", exchange);
      }
    },
  },
  {
    name: "something",
    says: "A stream tells something before it ends.",
    claims: [must("v03-S5", "§7.2")],
    async run(scene) {
      const { events, exchange } = await ordinaryStory(scene);
      if (events.length === 0) throw new Failed("events", exchange);
    },
  },
  {
    name: "one-task",
    says: "All events of a stream are about the same task.",
    claims: [must("v1-S14", "§3.1.2"), must("v03-S7", "§7.2")],
    async run(scene) {
      const { events, exchange } = await ordinaryStory(scene);
      const taskId = taskIdOf(events);
      const isOther = (event: SeenEvent) => event.kind !== "message" && event.taskId !== taskId;
      if (events.some(isOther)) throw new Failed("one taskId in all events", exchange);
    },
  },
  {
    name: "order",
    says: "Events come in the order in which they happened.",
    claims: [must("v1-S15", "§3.5.2"), should("v03-S7", "§3.3.1")],
    run: judgeOrder,
  },
  {
    name: "whole",
    says: "What a stream tells adds up to the task.",
    claims: [must("v1-S15", "§3.5.2"), should("v03-S7", "§3.3.1")],
    async run(scene) {
      const { events, exchange } = await longestStory(scene);
      const taskId = taskIdOf(events);
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

async function judgeOrder(scene: Scene): Promise<void> {
  const { events, exchange } = await longestStory(scene);
  const times = events
    .filter(({ kind }) => kind === "status")
    .map(({ json }) => Date.parse(textAt(json, "status", "timestamp")))
    .filter((time) => !Number.isNaN(time));
  if (times.some((time, index) => time < (times[index - 1] ?? time))) {
    throw new Failed("statuses whose timestamps never go back", exchange);
  }
  const states = events.flatMap((event) => (event.kind === "status" ? [event.state] : []));
  const begun = states.findIndex((state) => state !== "submitted" && state !== undefined);
  if (begun !== -1 && states.slice(begun).includes("submitted")) {
    throw new Failed("no submitted after the task was begun", exchange);
  }
  const ended = states.findIndex((state) => state !== undefined && isTerminal(state));
  if (ended !== -1 && ended < states.length - 1) {
    throw new Failed("no status after the one that ends the task", exchange);
  }
  const opened = new Set<string>();
  for (const event of events) {
    if (event.kind === "task") for (const [artifactId] of textsIn(event)) opened.add(artifactId);
    if (event.kind !== "artifact") continue;
    if (event.append && !opened.has(event.artifactId)) {
      throw new Failed("no appending to an artifact that has not begun", exchange);
    }
    opened.add(event.artifactId);
  }
}

/** The slow stream where there is one, since more happens in it. */
async function longestStory(scene: Scene) {
  try {
    return await slowStory(scene);
  } catch (error) {
    if (error instanceof Skipped) return ordinaryStory(scene);
    throw error;
  }
}

/** The text of each artifact that has nothing but text. */
function textsIn({ artifacts }: SeenTask): readonly (readonly [string, string])[] {
  return artifacts.map(
    (artifact) => [textAt(artifact, "artifactId"), textOfParts(artifact)] as const,
  );
}

function textTold(events: readonly SeenEvent[], artifactId: string): string {
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
