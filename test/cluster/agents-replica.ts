import { createJsonLogger } from "@convoke/engine";
import type { Agent } from "@convoke/protocol";
import { type ModelAgentDefinition, defineAgent } from "@convoke/runtime";
import { serve } from "convoke";
import { Notes } from "../agent-tree/notes.ts";
import { treeTools } from "../agent-tree/tree-tools.ts";
import { reportReady } from "../harness/report-ready.ts";

// A server with the agents root and leaf. Root has the agent middle in its process, which calls leaf
// at the address of all servers.

const { DATABASE_URL = "", FRONT_URL = "", MODEL_URL = "", NOTES_FILE = "" } = process.env;

const tools = treeTools(new Notes(NOTES_FILE));

function anAgent(name: string, subAgents: ModelAgentDefinition["subAgents"] = {}): Agent {
  return defineAgent({
    name,
    description: `Agent ${name} of a tree.`,
    model: `${MODEL_URL}/v1#${name}`,
    modelOptions: { apiKey: "scripted-key" },
    tools,
    subAgents,
  });
}

// A server that ends is replaced, however busy the machine is.
const leaf = { url: `${FRONT_URL}agents/leaf`, retryForMs: 60_000 };
const server = await serve(
  [anAgent("root", { middle: anAgent("middle", { leaf }) }), anAgent("leaf")],
  {
    port: 0,
    database: DATABASE_URL,
    publicUrl: FRONT_URL,
    logger: createJsonLogger("error", (line) => process.stderr.write(line)),
    // Callers send again what got no answer, to whichever server, and activate no extension.
    idempotency: "always",
  },
);
process.once("SIGTERM", () => void server.close({ drainMs: 0 }).then(() => process.exit()));
reportReady(`http://127.0.0.1:${server.port}/`);
