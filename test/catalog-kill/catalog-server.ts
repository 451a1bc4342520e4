import { AgentCatalog, FileCatalogStore } from "@convoke/host";
import { createJsonLogger } from "@convoke/engine";
import { join } from "node:path";
import { defineAgent, serve } from "convoke";
import { reportReady } from "../harness/report-ready.ts";

// Two agents, of which operators change one and add others. It is killed again and again.

const data = process.env["CONVOKE_DATA"]!;

const asker = defineAgent({
  id: "asker",
  name: "asker",
  description: "Asks.",
  run: async ({ ask }) => `heard ${await ask("Which?")}`,
});

const catalog = await AgentCatalog.open({
  entries: { asker, thinker: { description: "Edition 0.", model: "demo" } },
  store: new FileCatalogStore(join(data, "agents.json")),
  allowProcesses: true,
  loadModule: () => Promise.reject(new TypeError("there are no modules")),
});

const server = await serve(catalog.agents, {
  port: 0,
  data,
  logger: createJsonLogger("error", (line) => process.stderr.write(line)),
  manageAgents: (agents, logger) => catalog.manage(agents, logger),
});
reportReady(server.url);
