import type { AgentEvent, StatusUpdateEvent } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { World } from "../engine/a-world.ts";
import { tell } from "../engine/an-engine.ts";
import { verifies } from "../verifies.ts";

/** The metadata of the last status of a task. */
async function failureOf(world: World): Promise<StatusUpdateEvent["metadata"]> {
  const { live } = await tell(world.engine, "go");
  await world.settled(live.task.id);
  await expect.poll(async () => (await world.task(live.task.id)).status.state).toBe("failed");
  const last = (await world.events(live.task.id)).at(-1) as AgentEvent & StatusUpdateEvent;
  return last.metadata;
}

describe("a failed task has the reason in the metadata of its last status", () => {
  verifies("R49", "as a safe text with the errorId of the log entry, for an error", async () => {
    const world = new World(() => {
      throw new Error("the secret is 42");
    });

    expect(await failureOf(world)).toEqual({
      error: expect.stringMatching(/^The agent failed\. .* error [\w-]+\.$/),
      reason: "agent-error",
      errorId: expect.any(String),
    });
  });

  verifies("R49", "as the agent's own text, if it set one", async () => {
    const world = new World(({ fail }) => Promise.resolve(fail("No paper left.")));

    expect(await failureOf(world)).toEqual({ error: "No paper left." });
  });

  verifies("R49", "as the server's text, after a timeout", async () => {
    const slow = new World(() => new Promise(() => undefined), { timeoutMs: 20 });
    const unanswered = new World(({ ask }) => ask("Who?"), {
      inputTimeout: { ms: 20, onTimeout: "fail" },
    });

    expect(await failureOf(slow)).toEqual({ error: "Task timed out", reason: "timeout" });
    expect(await failureOf(unanswered)).toMatchObject({ error: "Input timeout" });
  });
});
