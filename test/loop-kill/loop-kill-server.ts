import { openSqliteBackend } from "@convoke/backends/sqlite";
import { defineAgent } from "@convoke/runtime";
import { createJsonLogger } from "@convoke/engine";
import { serve } from "@convoke/server";
import { cause } from "../crash/effect.ts";
import { greetParent } from "../crash/greet-parent.ts";
import { thinker } from "../crash/thinker.ts";
import { FlightRecorder } from "../kill-all/flight-recorder.ts";

// A real server of an agent with a model, whose commits are on record.

const folder = process.env["CONVOKE_DATA"] ?? "";
const recorder = new FlightRecorder(process.env["CONVOKE_RECORDER"] ?? "");
const receiverUrl = process.env["CONVOKE_RECEIVER"] ?? "";

const agent = defineAgent(
  thinker(process.env["CONVOKE_MODEL"] ?? "", async ({ taskId, toolCallId }, _, key) => {
    const effect = { by: taskId, name: toolCallId, ...(key !== undefined && { key }) };
    await cause(receiverUrl, effect);
  }),
);

const server = await serve(agent, {
  port: 0,
  host: "127.0.0.1",
  logger: createJsonLogger("warn", (line) => process.stderr.write(line)),
  openBackend: async () => recorder.watch(await openSqliteBackend({ folder })),
});
greetParent(server.url);
