import { openSqliteBackend } from "@convoke/backends/sqlite";
import { defineAgent } from "@convoke/runtime";
import { createJsonLogger } from "@convoke/engine";
import { serve } from "@convoke/server";
import { reportReady } from "../harness/report-ready.ts";

// A real server with default limits, started with less memory than its stored tasks take up.

const folder = process.env["CONVOKE_DATA"] ?? "";

const agent = defineAgent({
  name: "Archivist",
  description: "Keeps large tasks.",
  run: async ({ ask }) => ask("well?"),
});

const server = await serve(agent, {
  port: 0,
  host: "127.0.0.1",
  logger: createJsonLogger("error", (line) => process.stderr.write(line)),
  openBackend: () => openSqliteBackend({ folder }),
  push: {
    allow: ["127.0.0.1"],
    timeoutMs: 300,
    backoff: { firstMs: 20, longestMs: 100 },
  },
});
reportReady(server.url);
