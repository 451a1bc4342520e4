import { appendFileSync } from "node:fs";
import { serve } from "convoke";
import { reportReady } from "../harness/report-ready.ts";
import { AGENTS, type AgentName } from "./agents.ts";

// One agent of the fixture in its own process, which write-fixture.ts kills.

/** The arguments of the process. */
export interface ServeSettings {
  readonly agent: AgentName;
  readonly folder: string;
  /** Where it records its effects, one per line. */
  readonly effectsFile: string;
  readonly flightsUrl: string;
}

const settings = JSON.parse(process.env["CONVOKE_FIXTURE"] ?? "") as ServeSettings;
const { agent: name, folder, effectsFile, flightsUrl } = settings;
const agent = AGENTS[name]({
  record: (effect) => appendFileSync(effectsFile, `${JSON.stringify(effect)}\n`),
  hangs: true,
  flightsUrl,
});
const server = await serve(agent, {
  port: 0,
  data: folder,
  idempotency: "always",
  push: { allow: ["127.0.0.1"], backoff: { firstMs: 50, longestMs: 100 } },
});
reportReady(server.url);
