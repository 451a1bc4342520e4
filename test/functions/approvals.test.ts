import { type AgentDefinition, defineAgent } from "convoke";
import { say } from "convoke/testing";
import { textOf } from "@convoke/protocol";
import { expect, test } from "vitest";
import { Client, servedFunction } from "../approvals/a-served-agent.ts";
import { World } from "../engine/a-world.ts";
import { tell } from "../engine/an-engine.ts";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";

const refund: AgentDefinition["run"] = async ({ approve }) => {
  const call = { toolName: "refund", arguments: { order: "1001" }, title: "Refund 30 EUR" };
  return JSON.stringify(await approve(call));
};

test.each([
  ["approve", { isApproved: true }],
  ["reject too expensive", { isApproved: false, feedback: "too expensive" }],
  ["What does it cost?", { isApproved: false, feedback: "What does it cost?" }],
])("a function gets the decision of a caller that answers %j", async (answer, decision) => {
  const agent = defineAgent({ name: "clerk", description: "Refunds.", run: refund });

  const { text } = await say(agent, "go", { answers: [answer] });

  expect(JSON.parse(text)).toEqual(decision);
});

test("the approval of a function is data for programs, which decide by its id", async () => {
  const client = new Client(await servedFunction(refund));
  const task = await client.send("go");
  const approval = openApprovals(task)[0]!;

  expect(approval).toMatchObject({
    title: "Refund 30 EUR",
    tool: { name: "refund", arguments: { order: "1001" } },
    options: ["once", "reject"],
  });
  const decided = await client.send([answerTo(approval, { option: "once" })], { taskId: task.id });
  expect(textOf(decided)).toBe('{"isApproved":true}');
});

test("an approval of a function is still open after a restart", async () => {
  const world = new World(refund);
  const { live } = await tell(world.engine, "go");
  const taskId = live.task.id;
  await world.settled(taskId);

  await world.restart();
  await tell(world.engine, "approve", { taskId });

  await expect.poll(async () => textOf(await world.task(taskId))).toBe('{"isApproved":true}');
  const asks = (await world.events(taskId)).filter(({ kind }) => kind === "internal:ask");
  expect(asks).toHaveLength(1);
});
