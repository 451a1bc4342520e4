import { type PublicEvent, type Task, applyEvent, textPart } from "@convoke/protocol";
import { expect, test } from "vitest";
import { outline } from "./a-stream.suite.ts";
import { eventsBetween } from "./snapshot-events.ts";

const aTask = (state: Task["status"]["state"], artifacts: Task["artifacts"] = []): Task => ({
  kind: "task",
  id: "t1",
  contextId: "c1",
  status: { state },
  artifacts,
});
const anArtifact = (artifactId: string, ...texts: string[]) => ({
  artifactId,
  parts: texts.map((text) => textPart(text)),
});

function fold(before: Task, events: readonly PublicEvent[]): Task {
  return events.reduce<Task>((task, event) => applyEvent(task, event), before);
}

test("the first snapshot is itself an event", () => {
  const task = aTask("working");

  expect(eventsBetween(undefined, task)).toEqual([task]);
});

test("additions are events, artifacts before the status", () => {
  const before = aTask("working", [anArtifact("a1", "Hel")]);
  const after = aTask("completed", [anArtifact("a1", "Hello"), anArtifact("a2", "x")]);

  const events = eventsBetween(before, after);

  expect(outline(events)).toEqual(["artifact lo", "artifact x", "status completed"]);
  expect(fold(before, events)).toEqual(after);
});

test("chunks that a server keeps separate are the same text", () => {
  const before = aTask("working", [anArtifact("a1", "Hello")]);

  expect(eventsBetween(before, aTask("working", [anArtifact("a1", "Hel", "lo")]))).toEqual([]);
});

test("changed parts are sent whole", () => {
  const before = aTask("working", [anArtifact("a1", "Hello")]);
  const after = aTask("working", [anArtifact("a1", "Good day")]);

  const events = eventsBetween(before, after);

  expect(events).toMatchObject([{ kind: "artifact-update", append: false }]);
  expect(fold(before, events)).toEqual(after);
});

test("removals can only be expressed by the whole task", () => {
  const before = aTask("working", [anArtifact("a1", "Hello")]);
  const after = aTask("working");

  expect(eventsBetween(before, after)).toEqual([after]);
});

test("there is no event if nothing changed", () => {
  const task = aTask("working", [anArtifact("a1", "Hello")]);

  expect(eventsBetween(task, structuredClone(task))).toEqual([]);
});
