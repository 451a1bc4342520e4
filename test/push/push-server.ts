import { openSqliteBackend } from "@convoke/backends/sqlite";
import { defineAgent } from "@convoke/runtime";
import { createJsonLogger } from "@convoke/engine";
import { serve } from "@convoke/server";
import { greetParent } from "../crash/greet-parent.ts";

// A real server that pushes, made to be killed.

const folder = process.env["CONVOKE_DATA"] ?? "";

/** Says something between steps that are done once, so that a killed run goes on by its journal. */
const agent = defineAgent({
  name: "Reporter",
  description: "Reports its progress.",
  async *run({ step, status, sleep }) {
    for (let count = 1; count <= 5; count++) {
      // A kill may fall into it; what may not run twice would fail the task.
      await step("work", () => count, { idempotent: true });
      yield status(`report ${count}`);
      await sleep(20);
    }
    yield "all ";
    yield "done";
  },
});

const server = await serve(agent, {
  port: 0,
  host: "127.0.0.1",
  logger: createJsonLogger("error", (line) => process.stderr.write(line)),
  openBackend: () => openSqliteBackend({ folder }),
  push: {
    allow: ["127.0.0.1"],
    timeoutMs: 300,
    backoff: { firstMs: 10, longestMs: 100 },
    secret: "shared",
  },
});
greetParent(server.url);
