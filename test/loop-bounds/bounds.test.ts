import { type RemoteAgent, connect } from "convoke";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { textOfParts } from "@convoke/protocol";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import type { BoundsFacts } from "./bounds-server.ts";

/** A server takes about 130 MB by itself. */
const MOST_MB = 400;

describe("on a server, and in bounded memory,", () => {
  test("a tool that prints 1 GB ends, and the model gets the beginning and the end", async () => {
    const { agent, facts } = await aServer();

    const { text, task } = await agent.send("flood");

    expect(task?.status.state).toBe("completed");
    const [output] = JSON.parse(text) as [string];
    expect(output).toMatch(/^the beginning\nx{63}\n/);
    expect(output).toMatch(/\[truncated: 10736\d+ characters\]/);
    expect(output).toMatch(/x{63}\nthe end$/);
    expect(output.length).toBeLessThan(70_000);
    expect((await facts()).mostRssMb).toBeLessThan(MOST_MB);
  }, 60_000);

  verifies(
    "loop-L15",
    "a tool that never returns is aborted by its timeout, and by a cancel",
    async () => {
      const { agent, facts } = await aServer();

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

  test("a model that streams 100 000 tokens gives one correct answer, at a constant cost per token", async () => {
    const { agent, facts } = await aServer();
    const cost = async (tokens: number): Promise<number> => {
      const before = (await facts()).cpuMs;
      const { text } = await agent.send(`tokens ${tokens}`);
      expect(text).toBe(Array.from({ length: tokens }, (_, n) => `w${n} `).join(""));
      return ((await facts()).cpuMs - before) / tokens;
    };

    await cost(20_000);
    const short = await cost(20_000);
    const long = await cost(100_000);

    // A cost that grew with the length would be five times as high.
    expect(long / short).toBeLessThan(2.5);
    expect((await facts()).mostRssMb).toBeLessThan(MOST_MB);
  }, 60_000);

  verifies(
    "loop-L15",
    "a reader that pauses is not written to in the meantime, and misses nothing",
    async () => {
      const { agent, facts } = await aServer();
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
      const { agent, facts } = await aServer();

      const { text, task } = await agent.send("busy 50");

      expect(task?.status.state).toBe("completed");
      expect(JSON.parse(text)).toEqual(Array.from({ length: 50 }, (_, n) => n));
      expect((await facts()).mostAtOnce).toBe(5);
    },
  );
});

interface BoundsServer {
  readonly agent: RemoteAgent;
  readonly facts: () => Promise<BoundsFacts>;
}

async function aServer(): Promise<BoundsServer> {
  const data = join(temporaryFolder(), "data");
  const child = fork(new URL("./bounds-server.ts", import.meta.url), [data], {
    execArgv: ["--conditions=@convoke/source"],
  });
  onTestFinished(async () => {
    const gone = once(child, "exit");
    child.disconnect();
    await gone;
  });
  const { url } = await word<{ readonly url: string }>(child);
  return {
    agent: await connect(url),
    facts: () => {
      const said = word<BoundsFacts>(child);
      child.send("facts?");
      return said;
    },
  };
}

/** The next message of the process. */
async function word<T>(child: ChildProcess): Promise<T> {
  return ((await once(child, "message")) as [T])[0];
}
