import { outline as outlineOf } from "../wire/story.ts";
import type { Told } from "./speaker.ts";

type Stream = AsyncGenerator<Told, void>;

/** All events of a stream until it closes. */
export async function readAll(stream: Stream): Promise<readonly Told[]> {
  const told: Told[] = [];
  for await (const one of stream) told.push(one);
  return told;
}

/** The next event of an open stream. */
export async function next(stream: Stream): Promise<Told> {
  const { done, value } = await stream.next();
  if (done === true) throw new Error("The stream ended");
  return value;
}

/** The id of the task that a stream starts with. */
export function taskIdIn([first]: readonly Told[]): string {
  if (first?.event.kind === "task") return first.event.id;
  throw new Error(`This is no task: ${JSON.stringify(first)}`);
}

/** A stream in short. */
export function outline(told: readonly Told[]): readonly string[] {
  return outlineOf(told.map(({ event }) => event));
}
