import { connect } from "@convoke/client";
import { clearAgentCardCache, invokeRemoteAgent } from "convoke/compat";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { conformanceAgent } from "../conformance/conformance-agent.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { ManualClock } from "./manual-clock.suite.ts";
import { LegacyAgent } from "./legacy-agent.suite.ts";
import type { SdkServer } from "./sdk-server.ts";
import { startSdkV03 } from "./sdk-server-v03.ts";
import { startSdkV1 } from "./sdk-server-v1.ts";

const BUDGET = "https://convoke.dev/extensions/budget/v1";

beforeEach(() => clearAgentCardCache());

describe("our own server", () => {
  const demo = useServer();
  const parrot = useServer(conformanceAgent());
  const guarded = useServer(undefined, { token: "a-secret" });

  verifies("R89", "is called via A2A, because its card declares it", async () => {
    const result = await invokeRemoteAgent(demo.url, "slow 3");
    const remote = await connect(demo.url);
    const task = await remote.get(result.taskId);
    remote.close();

    expect(result).toEqual({
      success: true,
      taskId: task.id,
      responseText: expect.stringMatching(/\S/),
      error: null,
    });
    expect(task.status.state).toBe("completed");
  });

  verifies("seed-C24", "returns artifacts, a status or a message without a task", async () => {
    const artifact = await invokeRemoteAgent(parrot.url, "hand this back");
    const status = await invokeRemoteAgent(demo.url, "artifact");
    const message = await invokeRemoteAgent(demo.url, "message");

    expect(artifact.responseText).toBe("hand this back");
    expect(status.responseText).toMatch(/^One file and one record\./);
    expect(message).toEqual({
      success: true,
      taskId: "",
      responseText: "This is one message, and there is no task behind it.",
      error: null,
    });
  });

  verifies(["inbound-K8", "R102"], "receives the skill and the depth", async () => {
    const { taskId } = await invokeRemoteAgent(parrot.url, "hand this back", {
      skill: "echo",
      depth: 3,
      sourceAgent: "Planner",
    });

    const remote = await connect(parrot.url);
    const task = await remote.get(taskId);
    remote.close();
    expect(task.artifacts?.[0]?.metadata).toEqual({
      [BUDGET]: { depth: 0, visited: ["Planner"] },
      skill: "echo",
    });
    expect(task.history?.[0]?.extensions).toEqual([BUDGET]);
  });

  verifies("inbound-K9", "accepts callers with the token, and gives others a reason", async () => {
    const inside = await invokeRemoteAgent(guarded.url, "hi", { token: "a-secret" });
    const outside = await invokeRemoteAgent(guarded.url, "hi");

    expect(inside.success).toBe(true);
    expect(outside.error).toMatch(/^Submit failed: HTTP 401 /);
  });

  verifies(
    ["R93", "seed-C9"],
    "reports failures, rejections and questions in the result",
    async () => {
      const failed = await invokeRemoteAgent(demo.url, "fail");
      const rejected = await invokeRemoteAgent(demo.url, "reject");
      const asked = await invokeRemoteAgent(demo.url, "ask");

      expect(failed).toMatchObject({ success: false, error: failed.responseText });
      expect(failed).not.toHaveProperty("a2aState");
      expect(rejected).toMatchObject({ success: false, a2aState: "rejected" });
      expect(rejected.error).toMatch(/\S/);
      expect(asked).toMatchObject({
        success: false,
        responseText: "What is your name?",
        error: "Task needs input: What is your name?",
        a2aState: "input-required",
      });
    },
  );

  verifies("seed-C9", "canceled by another caller is a failure that says so", async () => {
    const remote = await connect(parrot.url);
    const onTask = async () => {
      for (;;) {
        const { tasks } = await remote.list();
        const task = tasks.find(({ status }) => status.state === "working");
        if (task !== undefined) return remote.cancel(task.id);
      }
    };

    const [result] = await Promise.all([invokeRemoteAgent(parrot.url, "wait for-ever"), onTask()]);
    remote.close();

    expect(result).toMatchObject({ success: false, a2aState: "canceled" });
    expect(result.error).toMatch(/\S/);
  });

  verifies(["R92", "seed-C9"], "waits for authorization until the timeout", async () => {
    const result = await invokeRemoteAgent(parrot.url, "authorize", { timeoutMs: 2000 });

    expect(result).toMatchObject({ success: false, error: "Timed out after 2000ms" });
    expect(result.taskId).not.toBe("");
  });

  verifies(["inbound-K8", "inbound-K9"], "is also called with the polling protocol", async () => {
    const clock = new ManualClock();
    const options = { protocol: "legacy", depth: 2, clock } as const;
    const call = (token: string, depth = 2) =>
      clock.passing(3000, invokeRemoteAgent(guarded.url, "hi", { ...options, depth, token }));

    const result = await call("a-secret");
    const outside = await call("another");
    const deep = await call("a-secret", 3);

    expect(result).toMatchObject({ success: true, error: null });
    expect(result.responseText).toMatch(/^You said: hi/);
    expect(outside.error).toMatch(/^Submit failed: HTTP 401/);
    expect(deep.error).toMatch(/^Submit failed: HTTP 400 — .*too long/);
  });
});

describe.each([
  ["0.3.14", startSdkV03],
  ["1.3.0", startSdkV1],
] as const)("a server of @a2a-js/sdk %s", (_, start) => {
  let server: SdkServer;

  beforeAll(async () => {
    server = await start();
  });

  afterAll(async () => {
    await server.close();
  });

  verifies("R89", "answers", async () => {
    const result = await invokeRemoteAgent(server.url, "grüß dich 👋", { depth: 2, skill: "x" });

    expect(result).toEqual({
      success: true,
      taskId: expect.stringMatching(/\S/),
      responseText: "grüß dich 👋",
      error: null,
    });
  });

  verifies("seed-C9", "asks a question without a text", async () => {
    const result = await invokeRemoteAgent(server.url, "ask");

    expect(result).toMatchObject({ error: "Task needs input", a2aState: "input-required" });
  });
});

describe("a submit via A2A that fails", () => {
  for (const [what, answer, error] of [
    ["an HTTP error", { status: 500, body: "boom" }, /^Submit failed: HTTP 500 .*boom/],
    ["an unavailable agent", { status: 503, body: "later" }, /^Submit failed: HTTP 503 .*later/],
    ["a rate limit", { status: 429, headers: { "retry-after": "1" }, body: "" }, /HTTP 429/],
    [
      "a JSON-RPC error",
      { body: { jsonrpc: "2.0", id: 1, error: { code: -32603, message: "oh no" } } },
      /^Submit failed: oh no/,
    ],
    ["a page", { body: "<html>hello</html>" }, /^Submit failed: /],
  ] as const) {
    verifies(["R89", "R91"], `with ${what} is made once, and only via A2A`, async () => {
      const agent = await a2aAgent(() => answer);

      const result = await invokeRemoteAgent(agent.url, "hi");

      expect(result).toMatchObject({ success: false, taskId: "" });
      expect(result.error).toMatch(error);
      expect(agent.story).toEqual(["GET /.well-known/agent-card.json", "POST /rpc"]);
    });
  }

  test("because the URL on the card is invalid is reported before anything is sent", async () => {
    const agent = await LegacyAgent.start({
      card: () => ({
        body: { name: "A", version: "1", protocolVersion: "0.3.0", preferredTransport: "SMOKE" },
      }),
    });

    const result = await invokeRemoteAgent(agent.url, "hi");

    expect(result.error).toMatch(/^Submit failed: the card at .* offers no interface/);
    expect(agent.story).toEqual(["GET /.well-known/agent-card.json"]);
  });

  test("because a required signature is missing is not tried with the other protocol", async () => {
    const agent = await LegacyAgent.start();

    const result = await invokeRemoteAgent(agent.url, "hi", { signatures: "require" });

    expect(result.error).toMatch(/^Submit failed: .* is not signed as required/);
    expect(agent.story).toEqual(["GET /.well-known/agent-card.json"]);
  });
});

/** Serves an A2A 0.3 card and answers calls as scripted. */
async function a2aAgent(rpc: () => object): Promise<LegacyAgent> {
  const agent: LegacyAgent = await LegacyAgent.start({
    card: () => ({
      body: {
        name: "A",
        version: "1",
        protocolVersion: "0.3.0",
        url: `${agent.url}/rpc`,
        preferredTransport: "JSONRPC",
      },
    }),
    other: ({ path }) => (path === "/rpc" ? rpc() : undefined),
  });
  return agent;
}
