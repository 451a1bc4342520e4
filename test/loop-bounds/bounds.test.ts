import { textOfParts } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { MOST_MB, startBoundsServer } from "./start-bounds-server.ts";

describe("on a server, and in bounded memory,", () => {
  verifies(
    "loop-L15",
    "a tool that never returns is aborted by its timeout, and by a cancel",
    async () => {
      const { agent, facts } = await startBoundsServer();

      const { text, task } = await agent.send("never");
      expect(task?.status.state).toBe("completed");
      expect(JSON.parse(text)).toEqual([
        "Tool never failed: it took longer than 0.3 s and was stopped",
      ]);

      const stream = agent.stream("patient");
      let taskId = "";
      for await (const event of stream) {
        if (event.kind === "task") taskId = event.id;
        if (event.kind === "status-update") break;
      }
      // Closing a stream does not affect the task: it continues, and can be subscribed to.
      await expect.poll(async () => (await agent.get(taskId)).status.state).toBe("working");
      expect((await agent.cancel(taskId)).status.state).toBe("canceled");
      await expect.poll(async () => (await facts()).stops).toHaveLength(2);
      expect((await facts()).stops[0]).toContain("it took longer than 0.3 s");
    },
  );

  verifies(
    "loop-L15",
    "a reader that pauses is not written to in the meantime, and misses nothing",
    async () => {
      const { agent, facts } = await startBoundsServer();
      const events = agent.stream("tokens 100000")[Symbol.asyncIterator]();
      const first = await events.next();
      const taskId = first.value?.kind === "task" ? first.value.id : "";
      await expect
        .poll(async () => (await agent.get(taskId)).status.state, { timeout: 60_000 })
        .toBe("completed");

      let words = 0;
      for (let next = await events.next(); next.done !== true; next = await events.next()) {
        if (next.value.kind === "artifact-update")
          words += textOfParts(next.value.artifact.parts).length;
      }

      expect(words).toBe(Array.from({ length: 100_000 }, (_, n) => `w${n} `).join("").length);
      expect((await facts()).mostRssMb).toBeLessThan(MOST_MB);
    },
    120_000,
  );

  verifies(
    "loop-L8",
    "a model that calls 50 tools at once has five of them run at a time, and gets all results in order",
    async () => {
      const { agent, facts } = await startBoundsServer();

      const { text, task } = await agent.send("busy 50");

      expect(task?.status.state).toBe("completed");
      expect(JSON.parse(text)).toEqual(Array.from({ length: 50 }, (_, n) => n));
      expect((await facts()).mostAtOnce).toBe(5);
    },
  );
});
