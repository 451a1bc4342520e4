import { A2AError } from "@convoke/protocol";
import { isSettled } from "@convoke/engine";
import { expect } from "vitest";
import { World } from "../engine/a-world.ts";
import { tell } from "../engine/an-engine.ts";
import { verifies } from "../verifies.ts";

/** One more than recovery restarts at a time, so that the last one is queued. */
const TASKS = 65;

verifies(
  ["G1", "G4", "G6"],
  "a task that is queued for a restart is one task for every caller in the meantime",
  async () => {
    const gate = Promise.withResolvers<void>();
    const world = new World(async ({ step, attempt }) => {
      await step("first", () => "done");
      if (attempt === 1) return new Promise<never>(() => undefined);
      await gate.promise;
      return "whole";
    });
    const begun = await Promise.all(
      Array.from({ length: TASKS }, (_, n) => tell(world.engine, "go", { messageId: `m${n}` })),
    );
    const taskIds = begun.map(({ live }) => live.task.id);
    await Promise.all(taskIds.map((taskId) => world.hasEvent(taskId, "internal:step-end")));
    await world.restart();
    const place = taskIds.indexOf(taskIds.toSorted().at(-1)!);
    const taskId = taskIds[place]!;

    // It accepts no message while it works; its own message is sent again.
    await expect(tell(world.engine, "more", { taskId })).rejects.toThrow(A2AError);
    const { live } = await tell(world.engine, "go", { messageId: `m${place}` });
    gate.resolve();

    await live.until(isSettled);
    expect(live.task.status.state).toBe("completed");
    expect((await world.task(taskId)).status.state).toBe("completed");
  },
);
