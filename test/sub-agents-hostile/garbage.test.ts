import { describe, expect, test } from "vitest";
import { toldIn } from "../sub-agents/a-hop.ts";
import { aBossOf } from "./a-boss.ts";
import { type HostileCall, aHostileAgent, frame, opens, shows, streams } from "./hostile-agent.ts";
import { aChunk, aStatus, aTask } from "./hostile-words.ts";

// Other stream faults are in test/sub-agents/faulty-agents.test.ts.

/**
 * Writes without end, as fast as it is read, and reports how much was written until the reader
 * left.
 */
async function pours({ response }: HostileCall, piece: () => string): Promise<number> {
  let length = 0;
  const left = new Promise<void>((resolve) => {
    response.once("close", resolve);
  });
  while (!response.destroyed) {
    const more = piece();
    length += more.length;
    if (response.write(more)) await new Promise((resolve) => void setImmediate(resolve));
    else await Promise.race([left, new Promise((resolve) => response.once("drain", resolve))]);
  }
  return length;
}

/** A hundred megabytes take a while on a busy machine. */
const WITHIN_MS = 60_000;

describe("a sub-agent that never stops sending", () => {
  const long = "x".repeat(64 * 1024);
  const cases = [
    {
      what: "its answer",
      begin: (call: HostileCall) => frame(call, aTask("working")),
      piece: (call: HostileCall) => frame(call, aChunk(long)),
      why: /^other failed: it said more than 16000000 characters/,
      most: 40_000_000,
    },
    {
      what: "its progress",
      begin: (call: HostileCall) => frame(call, aTask("working")),
      piece: (call: HostileCall) => frame(call, aStatus("working", long)),
      why: /^other failed: it said more than 16000000 characters/,
      most: 40_000_000,
    },
    {
      what: "its progress in small words",
      begin: (call: HostileCall) => frame(call, aTask("working")),
      piece: (call: HostileCall) => frame(call, aStatus("working", "x")).repeat(100),
      why: /^other failed: it said more than 16000000 characters/,
      most: 40_000_000,
    },
    {
      what: "snapshots of its task",
      begin: (call: HostileCall) => frame(call, aTask("working")),
      piece: (call: HostileCall) => {
        const artifacts = [{ artifactId: crypto.randomUUID(), parts: [] }];
        return frame(call, aTask("working", { artifacts })).repeat(100);
      },
      why: /^other failed: it said more than 16000000 characters/,
      most: 40_000_000,
    },
  ];

  test.each(cases)(
    "$what is stopped, and its caller continues",
    async ({ begin, piece, why, most }) => {
      const poured: Promise<number>[] = [];
      const pour = (call: HostileCall): void => {
        opens(call).write(begin(call));
        poured.push(pours(call, () => piece(call)));
      };
      const agent = await aHostileAgent({
        SendStreamingMessage: pour,
        SubscribeToTask: pour,
        CancelTask: (call) => shows(call, aTask("canceled")),
      });
      const boss = await aBossOf(agent.url, { rules: { timeoutMs: WITHIN_MS } });

      const { task } = await (await boss.client()).send("go");

      expect(task?.status.state).toBe("completed");
      const [{ isError, output } = { isError: false, output: "" }] = toldIn(task!);
      expect(isError).toBe(true);
      expect(output).toMatch(why);
      for (const length of await Promise.all(poured)) expect(length).toBeLessThan(most);
      // Its output is not stored either.
      expect(JSON.stringify(task).length).toBeLessThan(500_000);
      await expect.poll(() => agent.seen.at(-1)?.method).toBe("CancelTask");
    },
    2 * WITHIN_MS,
  );
});

test("a sub-agent with an endless event is abandoned at its timeout", async () => {
  const agent = await aHostileAgent({
    SendStreamingMessage: (call) => {
      opens(call).write(`${frame(call, aTask("working"))}data: {"x": "`);
      const timer = setInterval(() => call.response.write("x".repeat(10_000)), 10);
      call.response.once("close", () => clearInterval(timer));
    },
    CancelTask: (call) => shows(call, aTask("canceled")),
  });
  const boss = await aBossOf(agent.url, { rules: { timeoutMs: 2000 } });

  const { task } = await (await boss.client()).send("go");

  expect(toldIn(task!)).toMatchObject([
    { isError: true, output: "Tool other failed: it took longer than 2 s and was stopped" },
  ]);
  await expect.poll(() => agent.seen.at(-1)?.method).toBe("CancelTask");
  await expect.poll(() => agent.seen[0]?.response.destroyed, { timeout: 20_000 }).toBe(true);
});

describe("a sub-agent that sends too much at once", () => {
  const cases = [
    { what: "in a chunk of its answer", event: (text: string) => aChunk(text) },
    { what: "in a progress message", event: (text: string) => aStatus("working", text) },
  ];

  test.each(cases)("$what is stopped", { timeout: 2 * WITHIN_MS }, async ({ event }) => {
    const pours = (call: Parameters<typeof opens>[0]): void => {
      opens(call).write(frame(call, aTask("working")));
      call.response.write(frame(call, event("x".repeat(100_000_000))));
    };
    const agent = await aHostileAgent({
      SendStreamingMessage: pours,
      SubscribeToTask: pours,
      CancelTask: (call) => shows(call, aTask("canceled")),
    });
    const boss = await aBossOf(agent.url, { rules: { timeoutMs: WITHIN_MS } });

    const { task } = await (await boss.client()).send("go");

    expect(task?.status.state).toBe("completed");
    expect(toldIn(task!)).toMatchObject([
      {
        isError: true,
        output: expect.stringMatching(/^other failed: .*an event of more than 64 MiB/),
      },
    ]);
    expect(JSON.stringify(task).length).toBeLessThan(500_000);
  });

  test("in its final message is truncated for the model", async () => {
    const text = "x".repeat(5_000_000);
    const artifacts = [{ artifactId: "a", parts: [{ kind: "text", text } as const] }];
    const agent = await aHostileAgent({
      SendStreamingMessage: (call) => streams(call, [aTask("completed", { artifacts })]),
    });
    const boss = await aBossOf(agent.url);

    const { task } = await (await boss.client()).send("go");

    const [{ isError, output } = { isError: true, output: "" }] = toldIn(task!);
    expect(isError).toBe(false);
    expect(JSON.stringify(output).length).toBeLessThan(100_000);
    expect(JSON.stringify(output)).toContain("[truncated: ");
  });
});

test.each([
  ["text/html", "<h1>Welcome</h1>"],
  ["application/json", "null"],
  ["application/json", '{"jsonrpc":"2.0","id":1,"result":{"task":{"id":7}}}'],
  ["image/png", "\u0089PNG"],
  ["text/event-stream", 'data: {"jsonrpc":"2.0","id":1,"result":[]}\n\n'],
])("an invalid answer of %s fails: %s", async (type, body) => {
  const agent = await aHostileAgent({
    SendStreamingMessage: ({ response }) =>
      response.writeHead(200, { "content-type": type }).end(body),
  });
  const boss = await aBossOf(agent.url, { rules: { timeoutMs: 20_000 } });

  const { task } = await (await boss.client()).send("go");

  expect(task?.status.state).toBe("completed");
  const [{ isError, output } = { isError: false, output: "" }] = toldIn(task!);
  expect(isError).toBe(true);
  expect(output).toMatch(/^other failed: .*(?:is not JSON|has neither|cannot be understood)/);
});
