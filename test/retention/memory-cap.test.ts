import { connect, defineAgent, serve } from "convoke";
import { expect, onTestFinished } from "vitest";
import { verifies } from "../verifies.ts";

const agent = defineAgent({
  name: "Quick",
  description: "Answers at once.",
  run: async ({ text, ask }) => (text === "ask" ? ask("well?") : "done"),
});

verifies(
  ["R103", "R104", "R106", "seed-C25"],
  "tasks in memory are capped at a thousand, and one that waits is kept",
  async () => {
    const server = await serve(agent, { port: 0, data: "memory" });
    onTestFinished(() => server.close());
    const remote = await connect(server.url);
    await remote.send("ask");
    for (let sent = 0; sent < 1300; sent += 50) {
      await Promise.all(Array.from({ length: 50 }, () => remote.send("go")));
    }

    const total = async (): Promise<number> => (await remote.list({ pageSize: 1 })).totalSize;
    await expect.poll(total, { timeout: 10_000 }).toBeLessThanOrEqual(1001);

    const waiting = await remote.list({ pageSize: 10, state: "input-required" });
    expect(waiting.tasks).toHaveLength(1);
  },
);
