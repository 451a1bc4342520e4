import { setImmediate as nextTurn } from "node:timers/promises";
import { defineAgent } from "convoke";
import { sendMessage } from "@convoke/engine";
import { userMessage } from "@convoke/protocol";
import { CALLER, anEngine } from "../engine/an-engine.ts";

// Prints how many bytes of garbage of a task the collection of the young generation leaves. Runs in a
// process of its own with --expose-gc, so that nothing else is counted.
const TASKS = 1000;
const AT_ONCE = 32;

const gc = globalThis.gc!;
const agent = defineAgent({
  name: "echo",
  description: "Repeats the message.",
  async *run({ text }) {
    yield text;
  },
});
const engine = anEngine(agent);
let sent = 0;

async function send(): Promise<void> {
  const request = { message: userMessage(`m${++sent}`, "hello"), blocking: true };
  await sendMessage(request, {
    engine,
    agent: engine.agents.first,
    caller: CALLER,
    version: "1.0",
    trace: undefined,
    lastEventId: undefined,
  });
}

async function sendMany(): Promise<void> {
  const end = sent + TASKS;
  const one = async (): Promise<void> => {
    while (sent < end) {
      await send();
      await nextTurn();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

await sendMany();
gc();
await sendMany();
// An object is in the old generation once it has survived two of these.
for (let times = 0; times < 3; times++) gc({ type: "minor" });
const withGarbage = process.memoryUsage().heapUsed;
gc();
process.stdout.write(String((withGarbage - process.memoryUsage().heapUsed) / TASKS));
