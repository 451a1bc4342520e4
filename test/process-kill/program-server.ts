import { createJsonLogger } from "@convoke/engine";
import { openAgentData } from "@convoke/runtime/agent-data";
import { serve } from "@convoke/server";
import { type ProcessAgentOptions, processAgent } from "convoke";
import { reportReady } from "../harness/report-ready.ts";

// A program as an agent; the test gives the options.

const agent = processAgent(JSON.parse(process.env["PROCESS_AGENT"]!) as ProcessAgentOptions);
const data = process.env["CONVOKE_DATA"]!;
const logger = createJsonLogger("error", (line) => process.stderr.write(line));
const server = await serve(agent, {
  port: 0,
  host: "127.0.0.1",
  logger,
  openBackend: () => openAgentData(agent, { data, logger }),
});
reportReady(server.url);
