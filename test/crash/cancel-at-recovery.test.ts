import { createMemoryBackend } from "@convoke/engine/memory";
import { cancelTask } from "@convoke/engine";
import { expect } from "vitest";
import { World } from "../engine/a-world.ts";
import { CALLER, tell } from "../engine/an-engine.ts";
import { wrapBackend } from "../engine/wrapped-backend.ts";
import { verifies } from "../verifies.ts";

verifies(
  ["G4", "G10"],
  "a task that is canceled while it is about to be restarted is not restarted",
  async () => {
    const attempts: number[] = [];
    const backend = wrapBackend(createMemoryBackend());
    const world = new World(
      async ({ step, attempt }) => {
        attempts.push(attempt);
        await step("wait", () => new Promise(() => undefined), { idempotent: true });
      },
      { backend },
    );
    const { live } = await tell(world.engine, "go");
    await world.hasEvent(live.task.id, "internal:step-start");

    backend.hold();
    await world.restart();
    const canceled = cancelTask(world.engine, live.task.id, CALLER);
    backend.release();

    expect((await canceled).status.state).toBe("canceled");
    // Everything that was ready to run has run.
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(attempts).toEqual([1]);
  },
);
