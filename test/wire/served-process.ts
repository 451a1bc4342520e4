import { serve } from "convoke";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";

// A server in a process of its own, so that its memory can be measured apart from the test's.
// It is told its data folder, says where it listens, and answers any word with its peak memory.

const server = await serve(demoAgent, { port: 0, data: process.argv[2] ?? "memory" });

process.on("message", () => {
  process.send?.({ peakBytes: process.resourceUsage().maxRSS * 1024 });
});
process.on("disconnect", () => process.exit());
process.send?.({ url: server.url });
