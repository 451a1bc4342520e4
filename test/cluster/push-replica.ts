import { openPostgresBackend } from "@convoke/backends/postgres";
import { createJsonLogger } from "@convoke/engine";
import { serve } from "@convoke/server";
import { reportReady } from "../harness/report-ready.ts";
import { reporter } from "../push/reporter.ts";

const { DATABASE_URL = "", LEASE_MS } = process.env;

const server = await serve(reporter, {
  port: 0,
  host: "127.0.0.1",
  logger: createJsonLogger("error", (line) => process.stderr.write(line)),
  openBackend: () => openPostgresBackend({ url: DATABASE_URL, leaseMs: Number(LEASE_MS) }),
  push: {
    allow: ["127.0.0.1"],
    timeoutMs: 2000,
    backoff: { firstMs: 10, longestMs: 100 },
    secret: "shared",
  },
});
process.once("SIGTERM", () => void server.close({ drainMs: 0 }).then(() => process.exit()));
reportReady(server.url);
