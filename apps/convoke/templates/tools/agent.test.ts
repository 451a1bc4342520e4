import assert from "node:assert/strict";
import { test } from "node:test";
import { say, scriptedModel } from "convoke/testing";
import { createAgent } from "./agent.ts";

/** A model that refunds an order and then answers. */
function refunding() {
  return scriptedModel([
    { kind: "tool-call", toolName: "refund", input: { order: "1001" } },
    "That is done.",
  ]);
}

test("a refund waits for approval", async () => {
  const { task } = await say(createAgent(refunding()), "Refund order 1001.");

  assert.equal(task?.status.state, "input-required");
});

test("an approved refund is made, and the model receives the result", async () => {
  const model = refunding();

  const { text } = await say(createAgent(model), "Refund order 1001.", { answers: ["approve"] });

  assert.equal(text, "That is done.");
  assert.match(JSON.stringify(model.requests[1]?.transcript), /Order 1001 is refunded/);
});
