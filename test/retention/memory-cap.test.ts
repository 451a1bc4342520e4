import { retentionFor } from "@convoke/runtime/agent-data";
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
  "the memory store is limited to a thousand tasks, and a waiting one is kept",
  async () => {
    const server = await serve(agent, { port: 0, data: "memory" });
    onTestFinished(() => server.close());
    const remote = await connect(server.url);
    await remote.send("ask");
    const ids: string[] = [];
    for (let sent = 0; sent < 1300; sent += 50) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => remote.send("go")));
      ids.push(...answers.map(({ task }) => task?.id ?? ""));
    }

    const total = async (): Promise<number> => (await remote.list({ pageSize: 1 })).totalSize;
    await expect.poll(total, { timeout: 20_000 }).toBeLessThanOrEqual(1001);

    // The oldest are removed first, a hundred at a time.
    expect(retentionFor("memory")).toMatchObject({ maxTasks: 1000, perCycle: 100 });
    await expect(remote.get(ids[0] ?? "")).rejects.toThrow("not found");
    expect((await remote.get(ids.at(-1) ?? "")).status.state).toBe("completed");

    const waiting = await remote.list({ pageSize: 10, state: "input-required" });
    expect(waiting.tasks).toHaveLength(1);
  },
);
