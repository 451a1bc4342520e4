import { isInterrupted, isTerminal } from "@convoke/protocol";
import { Failed, Skipped } from "../verdict.ts";
import type { Scene } from "./scene.ts";
import type { SeenEvent } from "./seen.ts";
import type { Story } from "./story.ts";
import { getTask, slowText } from "./tasks.ts";

export function needsStreaming(scene: Scene): void {
  if (!scene.card.streaming) throw new Skipped("the card does not offer streaming");
}

/** What the stream of the ordinary message tells. It is read once. */
export function ordinaryStory(scene: Scene): Promise<Story> {
  needsStreaming(scene);
  const { once, settings } = scene.stage;
  return once.get("the stream of an ordinary message", () => storyOf(scene, settings.message));
}

/** What the stream of the slow message tells. It is read once. */
export function slowStory(scene: Scene): Promise<Story> {
  needsStreaming(scene);
  return scene.stage.once.get("the stream of a slow message", async () =>
    storyOf(scene, await slowText(scene)),
  );
}

/** The whole stream of a message. */
export async function storyOf(scene: Scene, text: string): Promise<Story> {
  const opened = await scene.open("sendStreamingMessage", scene.requests.send(text));
  const story = await scene.read(opened);
  if (!story.ended) await judgeEndless(scene, story);
  return story;
}

/** Much may be said about a task that is worked on; of one that has ended nothing more is to be said. */
async function judgeEndless(scene: Scene, { events, exchange }: Story): Promise<never> {
  const taskId = taskIdOf(events);
  const isOver = events.some(isLastWord);
  const { value } = isOver ? { value: undefined } : await getTask(scene, taskId);
  if (value?.state === undefined || isTerminal(value.state)) {
    throw new Failed(
      `a stream that ends; this one went on after ${events.length} events`,
      exchange,
    );
  }
  throw new Skipped(
    `the answer has more than ${events.length} events: a message with a shorter one`,
  );
}

export function taskIdOf(events: readonly SeenEvent[]): string {
  for (const event of events)
    if (event.kind !== "message" && event.taskId !== "") return event.taskId;
  return "";
}

/** Whether the task is at its end with this event. */
export function isLastWord(event: SeenEvent): boolean {
  const { state } = event.kind === "task" || event.kind === "status" ? event : {};
  return state !== undefined && isTerminal(state);
}

/** Whether a stream may end with this event. */
export function mayBeLast(event: SeenEvent): boolean {
  if (event.kind === "message") return true;
  const { state } = event.kind === "task" || event.kind === "status" ? event : {};
  return state !== undefined && (isTerminal(state) || isInterrupted(state));
}
