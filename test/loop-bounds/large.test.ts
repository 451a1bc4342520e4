import { describe, expect, test } from "vitest";
import { MOST_MB, startBoundsServer } from "./start-bounds-server.ts";

describe("on a server, and in bounded memory,", () => {
  test("a tool that prints 1 GB ends, and the model gets the beginning and the end", async () => {
    const { agent, facts } = await startBoundsServer();

    const { text, task } = await agent.send("flood");

    expect(task?.status.state).toBe("completed");
    const [output] = JSON.parse(text) as [string];
    expect(output).toMatch(/^the beginning\nx{63}\n/);
    expect(output).toMatch(/\[truncated: 10736\d+ characters\]/);
    expect(output).toMatch(/x{63}\nthe end$/);
    expect(output.length).toBeLessThan(70_000);
    expect((await facts()).mostRssMb).toBeLessThan(MOST_MB);
  }, 60_000);

  test("a model that streams 100 000 tokens gives one correct answer, at a constant cost per token", async () => {
    const { agent, facts } = await startBoundsServer();
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
});
