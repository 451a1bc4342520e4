import { openSqliteBackend } from "@convoke/backends/sqlite";
import { defineAgent } from "@convoke/runtime";
import { createJsonLogger } from "@convoke/engine";
import { serve } from "@convoke/server";
import { crash, readCrashPlan } from "./crash-point.ts";
import { crashBeforeAnswer } from "./crashing-answers.ts";
import { crashingBackend } from "./crashing-backend.ts";
import { cause } from "./effect.ts";
import { greetParent } from "./greet-parent.ts";
import { SCENARIOS, type Scenario, type World } from "./scenarios.ts";
import { thinker } from "./thinker.ts";

// A real server that kills itself where its environment says, or nowhere.

const plan = readCrashPlan(process.env);
const receiverUrl = process.env["CONVOKE_RECEIVER"] ?? "";
const folder = process.env["CONVOKE_DATA"] ?? "";

/** The spec of a model makes it an agent that thinks; without one it is a function. */
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

const server = await serve(agent, {
  port: 0,
  host: "127.0.0.1",
  logger: createJsonLogger("warn", (line) => process.stderr.write(line)),
  openBackend: async () => {
    const backend = await openSqliteBackend({ folder });
    return plan ? crashingBackend(backend, plan) : backend;
  },
});
greetParent(server.url);
