import { type ServeAgentOptions, serve } from "convoke";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";

// A server in its own process: crashes, errors and memory growth are observed from outside.

const server = await serve(demoAgent, {
  port: 0,
  data: "memory",
  push: { allow: [] },
  limits: { openTasks: 1_000_000, textLength: 10_000 },
  ...(JSON.parse(process.argv[2] ?? "{}") as ServeAgentOptions),
});

process.on("unhandledRejection", (reason) => {
  process.stderr.write(`unhandled: ${String(reason)}\n`);
});
process.on("message", () => {
  globalThis.gc?.();
  process.send?.({
    heapBytes: process.memoryUsage().heapUsed,
    connections: process.getActiveResourcesInfo().filter((name) => /^(TCP|TLS).*Wrap$/.test(name))
      .length,
  });
});
process.on("disconnect", () => process.exit());
process.send?.({ url: server.url });
