import { serveAgent } from "../harness/serve-agent.ts";
import { reporter } from "./reporter.ts";

await serveAgent(reporter, {
  level: "error",
  push: {
    allow: ["127.0.0.1"],
    timeoutMs: 300,
    backoff: { firstMs: 10, longestMs: 100 },
    secret: "shared",
  },
});
