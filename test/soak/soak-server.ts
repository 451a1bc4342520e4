import { defineAgent, serve } from "convoke";

// A server in its own process, so that its memory can be measured separately from the test's. Tasks
// are kept for a few seconds, so that pruning them is part of what is measured.

const agent = defineAgent({
  name: "Soaked",
  description: "Says ten words.",
  async *run() {
    for (let count = 0; count < 10; count++) yield `word ${count} `;
  },
});

const [data = "", database] = process.argv.slice(2);
const server = await serve(agent, {
  port: 0,
  ...(database === undefined ? { data } : { database }),
  retention: { maxTasks: 1000, maxAgeMs: 2000, everyMs: 500 },
});

process.on("message", () => {
  globalThis.gc?.();
  process.send?.({ rssBytes: process.memoryUsage.rss() });
});
process.on("disconnect", () => process.exit());
process.send?.({ url: server.url });
