import { type A2APart, type ArtifactUpdateEvent, type Task, applyEvent } from "@convoke/protocol";
import { expect } from "vitest";
import { verifies } from "../verifies.ts";

const FEW = 100;
const MANY = 20_000;
const CHUNKS = 100;
/** Repeated often enough for systems that count CPU in ticks. */
const REPEATS = 100;
const ROUNDS = 5;

/** A cost that grew with the parts would be hundreds of times as high. */
const MOST_GROWTH = 5;

verifies(
  "G9",
  "a chunk of data costs the same for an artifact with many parts as for one with few",
  () => {
    const few = taskWith(FEW);
    const many = taskWith(MANY);
    cpuOfChunks(few);

    const rounds = Array.from({ length: ROUNDS }, () => {
      const ofFew = cpuOfChunks(few);
      return cpuOfChunks(many) / ofFew;
    });

    expect(rounds.toSorted((left, right) => left - right)[2]).toBeLessThan(MOST_GROWTH);
  },
);

function cpuOfChunks(task: Task): number {
  const before = process.cpuUsage();
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    let folded = task;
    for (let chunk = 0; chunk < CHUNKS; chunk++)
      folded = applyEvent(folded, update([dataPart(chunk)]));
    expect(folded.artifacts).toHaveLength(1);
  }
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function taskWith(parts: number): Task {
  const opened = { kind: "task", id: "t", contextId: "c", status: { state: "working" } } as const;
  return applyEvent(opened, update(Array.from({ length: parts }, (_, row) => dataPart(row))));
}

function update(parts: readonly A2APart[]): ArtifactUpdateEvent {
  const artifact = { artifactId: "a", parts };
  return { kind: "artifact-update", taskId: "t", contextId: "c", artifact, append: true };
}

function dataPart(row: number): A2APart {
  return { kind: "data", data: { row } };
}
