import { defineAgent } from "@convoke/runtime";
import { cause } from "../harness/effect.ts";
import { serveAgent } from "../harness/serve-agent.ts";
import { crash, crashBeforeAnswer, crashingBackend, readCrashPlan } from "./crash-point.ts";
import { SCENARIOS, type Scenario, type World } from "./scenarios.ts";
import { thinker } from "./thinker.ts";

// A server that kills itself at the point given in its environment.

const plan = readCrashPlan(process.env);
const receiverUrl = process.env["CONVOKE_RECEIVER"] ?? "";

/** With a model it serves an agent with a model, otherwise a function. */
const model = process.env["CONVOKE_MODEL"];

async function act(by: string, name: string, key?: string): Promise<void> {
  await cause(receiverUrl, { by, name, ...(key !== undefined && { key }) });
  if (plan?.at === "after-effect" && plan.on === name) crash();
}

const world: World = {
  pay: ({ message }, key) => act(message.messageId, "pay", key),
  ship: ({ message }) => act(message.messageId, "ship"),
  tidyUp: ({ message }) => act(message.messageId, "tidy-up"),
};

if (plan?.at === "before-ack") crashBeforeAnswer(plan.on);

const agent =
  model === undefined
    ? defineAgent({
        name: "Crash",
        description: "Does what the test is about.",
        run: (turn) => SCENARIOS[turn.text as Scenario](turn, world),
      })
    : defineAgent(thinker(model, ({ taskId }, name, key) => act(taskId, name, key)));

await serveAgent(agent, plan && { wrapBackend: (backend) => crashingBackend(backend, plan) });
