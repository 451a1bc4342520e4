import { serve } from "convoke";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";

// A server in its own process, so that its memory can be measured separately from the test's. It
// receives its data folder, reports where it listens, and answers any message with its peak memory.

const server = await serve(demoAgent, { port: 0, data: process.argv[2] ?? "memory" });

process.on("message", () => {
  process.send?.({ peakBytes: process.resourceUsage().maxRSS * 1024 });
});
process.on("disconnect", () => process.exit());
process.send?.({ url: server.url });
