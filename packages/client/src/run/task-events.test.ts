import {
  type ArtifactUpdateEvent,
  type PublicEvent,
  type Task,
  applyEvent,
} from "@convoke/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { TaskSnapshot } from "./task-events.ts";

const ids = { taskId: "t1", contextId: "c1" };
const FIRST: Task = { kind: "task", id: "t1", contextId: "c1", status: { state: "submitted" } };
const WORKING = {
  kind: "status-update",
  ...ids,
  status: { state: "working" },
  final: false,
} as const;

const part = fc.oneof(
  fc.record({ kind: fc.constant("text" as const), text: fc.constantFrom("", "a", "b") }),
  fc.constant({ kind: "data" as const, data: { n: 1 } }),
);
const chunk: fc.Arbitrary<ArtifactUpdateEvent> = fc
  .record({
    artifact: fc.record(
      {
        artifactId: fc.constantFrom("a1", "a2"),
        parts: fc.array(part, { maxLength: 3 }),
        name: fc.constantFrom("x", "y"),
      },
      { requiredKeys: ["artifactId", "parts"] },
    ),
    append: fc.boolean(),
  })
  .map((fields) => ({ kind: "artifact-update", ...ids, ...fields }));
const event: fc.Arbitrary<PublicEvent> = fc.oneof(
  { weight: 9, arbitrary: chunk },
  { weight: 1, arbitrary: fc.constant(WORKING) },
);

test("chunks that are added together make the same task as one after the other, whenever it is read", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(event, fc.boolean())), (steps) => {
      const snapshot = new TaskSnapshot();
      snapshot.add(FIRST);
      let task = FIRST;
      for (const [added, isRead] of steps) {
        snapshot.add(added);
        task = applyEvent(task, added);
        if (isRead) expect(snapshot.task).toEqual(task);
      }
      expect(snapshot.task).toEqual(task);
    }),
  );
});

test("a long answer that is never read in between is complete", () => {
  const snapshot = new TaskSnapshot();
  snapshot.add(FIRST);
  for (let place = 0; place < 1000; place++) {
    const artifact = { artifactId: "a1", parts: [{ kind: "text", text: `${place} ` }] } as const;
    snapshot.add({ kind: "artifact-update", ...ids, artifact, append: place > 0 });
  }

  const text = Array.from({ length: 1000 }, (_, place) => `${place} `).join("");
  expect(snapshot.task?.artifacts).toEqual([{ artifactId: "a1", parts: [{ kind: "text", text }] }]);
});
