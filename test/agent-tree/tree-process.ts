import { defineAgent } from "@convoke/runtime";
import { serve } from "convoke";
import { reportReady } from "../harness/report-ready.ts";
import { Notes } from "./notes.ts";
import { obedientModel } from "./obedient-model.ts";
import { treeTools } from "./tree-tools.ts";

// One agent of a tree: a real server that executes its messages.

/** The arguments of an agent's process. */
export interface TreeSettings {
  readonly name: string;
  readonly port: number;
  /** Where it stores its tasks. */
  readonly folder: string;
  /** The file in which it records what it did. */
  readonly notes: string;
  /** The agents that it may call, by name. */
  readonly subAgents: Readonly<Record<string, string>>;
  readonly allowsCycles: boolean;
}

const settings = JSON.parse(process.env["CONVOKE_TREE"] ?? "") as TreeSettings;
const { name, port, folder, notes: file, subAgents, allowsCycles } = settings;
const notes = new Notes(file);

const agent = defineAgent({
  name,
  description: `Agent ${name} of a tree.`,
  model: obedientModel(name, notes),
  tools: treeTools(notes),
  // A killed agent is restarted, however busy the machine is.
  subAgents: Object.fromEntries(
    Object.entries(subAgents).map(([called, url]) => [called, { url, retryForMs: 60_000 }]),
  ),
  allowsCycles,
});
const server = await serve(agent, { port, data: folder, idempotency: "always" });
reportReady(server.url);
