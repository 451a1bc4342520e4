import { openSqliteBackend } from "@convoke/backends/sqlite";
import { defineAgent } from "@convoke/runtime";
import { createJsonLogger } from "@convoke/engine";
import { serve } from "@convoke/server";
import { greetParent } from "../crash/greet-parent.ts";
import { FlightRecorder } from "./flight-recorder.ts";
import { worker } from "./jobs.ts";

// A real server whose commits are on record.

const folder = process.env["CONVOKE_DATA"] ?? "";
const recorder = new FlightRecorder(process.env["CONVOKE_RECORDER"] ?? "");

const receiverUrl = process.env["CONVOKE_RECEIVER"] ?? "";
const agent = worker(receiverUrl, process.env["CONVOKE_RESTART"] === "yes");

const server = await serve(defineAgent(agent), {
  port: 0,
  host: "127.0.0.1",
  logger: createJsonLogger("warn", (line) => process.stderr.write(line)),
  openBackend: async () => recorder.watch(await openSqliteBackend({ folder })),
});
greetParent(server.url);
