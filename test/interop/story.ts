import { type Seen, type SeenArtifactUpdate, type SeenTask, textOf } from "./sdk-client.ts";

/** A summary of a stream: `task submitted`, `status working`, `artifact …`, `message …`. */
export function outline(seen: readonly Seen[]): readonly string[] {
  return seen.map((event) => {
    switch (event.kind) {
      case "task":
      case "status":
        return `${event.kind} ${event.state}`;
      case "artifact":
        return `artifact ${textOf(event.artifact.parts)}`;
      case "message":
        return `message ${event.text}`;
    }
  });
}

/** The chunks of a stream. */
export function chunksOf(seen: readonly Seen[]): readonly SeenArtifactUpdate[] {
  return seen.filter((event) => event.kind === "artifact");
}

/** The answer's text in the chunks of a stream. */
export function textOfChunks(seen: readonly Seen[]): string {
  return chunksOf(seen)
    .map(({ artifact }) => textOf(artifact.parts))
    .join("");
}

/** The answer's text in the artifacts of a task. */
export function textOfTask({ artifacts }: SeenTask): string {
  return artifacts.map(({ parts }) => textOf(parts)).join("");
}

/** Asserts that the result is a task, with which a test continues. */
export function asTask(seen: Seen | undefined): SeenTask {
  if (seen?.kind === "task") return seen;
  throw new Error(`This is no task: ${JSON.stringify(seen)}`);
}

/** The demo agent's stream for `slow N`. */
export function countTo(count: number): string {
  return Array.from({ length: count }, (_, index) => index + 1).join(" ");
}

/** A whole stream. */
export async function collect(events: AsyncIterable<Seen>): Promise<readonly Seen[]> {
  const seen: Seen[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}
