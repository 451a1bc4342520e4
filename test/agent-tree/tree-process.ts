import { defineAgent } from "@convoke/runtime";
import { serve } from "convoke";
import { reportReady } from "../harness/report-ready.ts";
import { Notes } from "./notes.ts";
import { obedientModel } from "./obedient-model.ts";
import type { TreeSettings } from "./tree-settings.ts";
import { treeTools } from "./tree-tools.ts";

// One agent of a tree: a real server that does what its messages ask for.

const settings = JSON.parse(process.env["CONVOKE_TREE"] ?? "") as TreeSettings;
const { name, port, folder, notes: file, subAgents, allowsCycles } = settings;
const notes = new Notes(file);

const agent = defineAgent({
  name,
  description: `Agent ${name} of a tree.`,
  model: obedientModel(name, notes),
  tools: treeTools(notes),
  // Whoever is killed comes back, however busy the machine is.
  subAgents: Object.fromEntries(
    Object.entries(subAgents).map(([called, url]) => [called, { url, patienceMs: 60_000 }]),
  ),
  allowsCycles,
});
const server = await serve(agent, { port, data: folder });
reportReady(server.url);
