import assert from "node:assert/strict";
import { test } from "node:test";
import { say } from "convoke/testing";
import agent from "./agent.ts";

test("the agent repeats the message, in chunks", async () => {
  const { text, task, events } = await say(agent, "hello world");

  assert.equal(text, "You said: hello world");
  assert.equal(task?.status.state, "completed");
  assert.ok(events.filter(({ kind }) => kind === "artifact-update").length >= 4);
});
