import { openSqliteBackend } from "@convoke/backends/sqlite";
import { type FunctionTurn, defineAgent } from "@convoke/runtime";
import { createJsonLogger, serve } from "@convoke/server";
import { crash, readCrashPlan } from "./crash-point.ts";
import { crashBeforeAnswer } from "./crashing-answers.ts";
import { crashingBackend } from "./crashing-backend.ts";
import { cause } from "./effect.ts";
import { greetParent } from "./greet-parent.ts";
import { SCENARIOS, type Scenario, type World } from "./scenarios.ts";

// A real server that kills itself where its environment says, or nowhere.

const plan = readCrashPlan(process.env);
const receiverUrl = process.env["CONVOKE_RECEIVER"] ?? "";
const folder = process.env["CONVOKE_DATA"] ?? "";

async function act({ message }: FunctionTurn, name: string, key?: string): Promise<void> {
  await cause(receiverUrl, { by: message.messageId, name, ...(key !== undefined && { key }) });
  if (plan?.at === "after-effect" && plan.on === name) crash();
}

const world: World = {
  pay: (turn, key) => act(turn, "pay", key),
  ship: (turn) => act(turn, "ship"),
  tidyUp: (turn) => act(turn, "tidy-up"),
};

if (plan?.at === "before-ack") crashBeforeAnswer(plan.on);

const server = await serve(
  defineAgent({
    name: "Crash",
    description: "Does what the test is about.",
    run: (turn) => SCENARIOS[turn.text as Scenario](turn, world),
  }),
  {
    port: 0,
    host: "127.0.0.1",
    logger: createJsonLogger("warn", (line) => process.stderr.write(line)),
    openBackend: async () => {
      const backend = await openSqliteBackend({ folder });
      return plan ? crashingBackend(backend, plan) : backend;
    },
  },
);
greetParent(server.url);
