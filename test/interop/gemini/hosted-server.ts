import { createJsonLogger } from "@convoke/engine";
import { openAgentData } from "@convoke/runtime/agent-data";
import { serve } from "@convoke/server";
import { processAgent } from "convoke";
import { reportReady } from "../../harness/report-ready.ts";

// The Gemini CLI as an agent. The test gives the program, its folder and its environment.

interface HostedGemini {
  readonly program: string;
  readonly workspace: string;
  readonly env: Readonly<Record<string, string>>;
}

const { program, workspace, env } = JSON.parse(process.env["HOSTED_GEMINI"]!) as HostedGemini;
const data = process.env["CONVOKE_DATA"]!;
const logger = createJsonLogger("warn", (line) => process.stderr.write(line));
const agent = processAgent({
  name: "gemini",
  description: "The Gemini CLI in a folder",
  command: process.execPath,
  args: [program, "--acp", "--model", "gemini-2.5-flash"],
  protocol: "acp",
  workspace,
  env,
});
const server = await serve(agent, {
  port: 0,
  host: "127.0.0.1",
  logger,
  openBackend: () => openAgentData(agent, { data, logger }),
});
reportReady(server.url);
