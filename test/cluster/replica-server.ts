import { openPostgresBackend } from "@convoke/backends/postgres";
import { createJsonLogger } from "@convoke/engine";
import { defineAgent } from "@convoke/runtime";
import { serve } from "@convoke/server";
import { reportReady } from "../harness/report-ready.ts";
import { worker } from "../kill-all/jobs.ts";

const { CLOCK_MS = "0", CONVOKE_RECEIVER = "", CONVOKE_RESTART } = process.env;
const { DATABASE_URL = "", LEASE_MS } = process.env;

// The clock of this machine is wrong by this much.
const now = Date.now;
Date.now = () => now() + Number(CLOCK_MS);

const server = await serve(defineAgent(worker(CONVOKE_RECEIVER, CONVOKE_RESTART === "yes")), {
  port: 0,
  host: "127.0.0.1",
  logger: createJsonLogger("error", (line) => process.stderr.write(line)),
  openBackend: (_, metrics) =>
    openPostgresBackend({ url: DATABASE_URL, leaseMs: Number(LEASE_MS), metrics }),
  // Callers send again what got no answer, to whichever replica, and activate no extension.
  idempotency: "always",
});
process.once("SIGTERM", () => void server.close({ drainMs: 0 }).then(() => process.exit()));
reportReady(server.url);
