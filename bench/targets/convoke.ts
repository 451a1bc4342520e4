import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { defineAgent, serve } from "convoke";
import { chunkText } from "./chunk.ts";
import { report } from "./report.ts";

/** The whole server: validation, log on disk, state machine, streams. The message says how many chunks. */
const agent = defineAgent({
  name: "Burst",
  description: "Streams as many chunks as the message says.",
  async *run({ text }) {
    for (let place = 0; place < Number(text); place++) yield chunkText(place);
  },
});

// On a real disk: a folder in memory would make the syncs free.
const data = process.env["BENCH_DATA"] ?? mkdtempSync(join(process.cwd(), ".convoke-bench-"));
const server = await serve(agent, { port: 0, data });
report(server.url);
