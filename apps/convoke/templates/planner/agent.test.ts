import assert from "node:assert/strict";
import { test } from "node:test";
import { say, scriptedModel } from "convoke/testing";
import { createAgent } from "./agent.ts";

test("the planner asks both sub-agents and answers with a plan", async () => {
  const model = scriptedModel([
    [
      { kind: "tool-call", toolName: "trains", input: { message: "Rome" } },
      { kind: "tool-call", toolName: "weather", input: { message: "Rome" } },
    ],
    "Take the train, pack light.",
  ]);

  const { text } = await say(createAgent(model), "A weekend in Rome.");

  assert.equal(text, "Take the train, pack light.");
  const received = JSON.stringify(model.requests[1]?.transcript);
  assert.match(received, /platform 4/);
  assert.match(received, /21 degrees/);
});
