// A replica of Convoke on Postgres.
import { setTimeout as sleep } from "node:timers/promises";
import { createJsonLogger } from "@convoke/engine";
import { defineAgent, serve } from "convoke";

const { DATABASE_URL: database = "", PUBLIC_URL: publicUrl = "", CHUNKS, PAUSE_MS } = process.env;

const counter = defineAgent({
  name: "Counter",
  description: "Counts.",
  async *run({ step, signal }) {
    signal.addEventListener("abort", () => console.log("canceled"));
    for (let number = 1; number <= Number(CHUNKS); number++) {
      yield await step("count", async () => `${number} `, { idempotent: true });
      console.log("chunk");
      await sleep(Number(PAUSE_MS), undefined, { signal });
    }
  },
});

const logger = createJsonLogger("error", (line) => process.stderr.write(line));
const server = await serve(counter, { port: 0, database, publicUrl, data: "memory", logger });
console.log(`ready http://127.0.0.1:${server.port}`);
// Ends with the process that started it.
process.stdin.on("end", () => process.exit()).resume();
