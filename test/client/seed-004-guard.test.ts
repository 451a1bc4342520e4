import {
  type InvocationRefusal,
  ValidationError,
  clearAgentCardCache,
  createInvocationBudget,
  discoverAgent,
  fetchAgentCard,
  invokeRemoteAgent,
} from "convoke/compat";
import { beforeEach, describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { LegacyAgent, finish, legacyCard } from "./legacy-agent.suite.ts";

const REFUSED = {
  success: false,
  taskId: "",
  responseText: null,
  error: "Remote agent invocation is temporarily unavailable. Try again later.",
};

beforeEach(() => clearAgentCardCache());

describe("the budget of a session", () => {
  verifies("R94", "is ten calls", async () => {
    const agent = await anAgent();
    const told: InvocationRefusal[] = [];
    const budget = createInvocationBudget({ cooldownMs: 0 });
    const call = () =>
      invokeRemoteAgent(agent.url, "hi", { budget, onRefusal: (refusal) => told.push(refusal) });

    for (let count = 1; count <= 10; count += 1) expect((await call()).success).toBe(true);
    const submits = agent.seen.length;

    expect(await call()).toEqual(REFUSED);
    expect(agent.seen).toHaveLength(submits);
    expect(told).toEqual([
      { reason: "call-limit", detail: "the session has made its 10 calls", agent: agent.url },
    ]);
  });

  verifies("R94", "is three agents, each with any number of calls", () => {
    const budget = createInvocationBudget({ cooldownMs: 0 });

    for (const agent of ["a", "b", "c", "a"]) expect(budget.take(agent)).toBeUndefined();

    expect(budget.take("d")).toMatchObject({ reason: "agent-limit" });
    expect(budget.take("c")).toBeUndefined();
    expect(budget).toMatchObject({ callsMade: 5, agentsCalled: 3 });
  });

  verifies("R94", "requires five seconds between calls to one agent, and none for others", () => {
    let now = 0;
    const budget = createInvocationBudget({ now: () => now });
    expect(budget.take("a")).toBeUndefined();
    expect(budget.take("b")).toBeUndefined();

    now = 4999;
    expect(budget.take("a")).toEqual({
      reason: "cooldown",
      detail: "a was called just now; it may be called again in 1ms",
    });
    now = 5000;

    expect(budget.take("a")).toBeUndefined();
    expect(budget.callsMade).toBe(3);
  });

  verifies("R94", "applies to concurrent calls", async () => {
    const agent = await anAgent();
    const budget = createInvocationBudget();
    const calls = Array.from({ length: 5 }, () => invokeRemoteAgent(agent.url, "hi", { budget }));

    const results = await Promise.all(calls);

    expect(results.filter(({ success }) => success)).toHaveLength(1);
    expect(results.filter(({ error }) => error === REFUSED.error)).toHaveLength(4);
  });

  test("identifies an agent in every notation of its URL", async () => {
    const agent = await anAgent();
    const budget = createInvocationBudget({ maxAgents: 1, cooldownMs: 0 });
    const { port } = new URL(agent.url);

    for (const path of ["", "/", "/a/..", "/?x=1", "/#y", "/.well-known/agent-card.json"]) {
      expect(await invokeRemoteAgent(`${agent.url}${path}`, "hi", { budget })).toMatchObject({
        success: true,
      });
    }
    await invokeRemoteAgent(`http://0x7f.1:${port}`, "hi", { budget });

    expect(budget).toMatchObject({ agentsCalled: 1, callsMade: 7 });
  });

  test("counts a failed call, because the agent may have worked", async () => {
    const agent = await LegacyAgent.start({ submit: () => ({ status: 500, body: "" }) });
    const budget = createInvocationBudget();

    await invokeRemoteAgent(agent.url, "hi", { budget });

    expect(budget.callsMade).toBe(1);
  });

  for (const options of [{ maxCalls: -1 }, { maxAgents: 0.5 }, { cooldownMs: Number.NaN }]) {
    test(`is rejected as ${JSON.stringify(options)}, by name`, () => {
      const [field = ""] = Object.keys(options);

      expect(() => createInvocationBudget(options)).toThrow(ValidationError);
      expect(() => createInvocationBudget(options)).toThrow(field);
    });
  }
});

describe("a chain of agents", () => {
  verifies(["inbound-K8", "R102"], "may be three long and not four", async () => {
    const agent = await anAgent();
    const told: InvocationRefusal[] = [];
    const budget = createInvocationBudget({ cooldownMs: 0 });
    const onRefusal = (refusal: InvocationRefusal) => told.push(refusal);
    const call = (depth: number) =>
      invokeRemoteAgent(agent.url, "hi", { depth, budget, onRefusal });

    expect((await call(3)).success).toBe(true);
    const before = agent.seen.length;
    expect(await call(4)).toEqual(REFUSED);

    expect(agent.seen).toHaveLength(before);
    expect(told).toMatchObject([{ reason: "depth", agent: agent.url }]);
    expect(told[0]?.detail).toContain("number 4");
    expect(budget.callsMade).toBe(1);
  });

  test("may be as long as the operator configures", async () => {
    const agent = await anAgent();

    const result = await invokeRemoteAgent(agent.url, "hi", { depth: 5, maxDepth: 5 });

    expect(result.success).toBe(true);
  });
});

describe("the trust in an agent", () => {
  for (const [level, atLeast, mayBeCalled] of [
    ["low", undefined, true],
    ["untrusted", undefined, false],
    ["medium", "high", false],
    ["verified", "high", true],
    ["untrusted", "untrusted", true],
    ["blacklisted", "untrusted", false],
  ] as const) {
    verifies(
      "R94",
      `${level} ${mayBeCalled ? "is" : "is not"} ${atLeast ?? "enough"}`,
      async () => {
        const agent = await anAgent();
        const budget = createInvocationBudget();
        const trust = { of: () => level, atLeast };

        const result = await invokeRemoteAgent(agent.url, "hi", { budget, trust });

        expect(result.success).toBe(mayBeCalled);
        expect(result.error).toBe(mayBeCalled ? null : REFUSED.error);
        expect(budget.callsMade).toBe(mayBeCalled ? 1 : 0);
      },
    );
  }

  verifies("R94", "is none if it is unknown, and the operator is notified", async () => {
    const agent = await anAgent();
    const told: InvocationRefusal[] = [];
    const trust = { of: () => Promise.reject(new Error("registry is down")) };
    const onRefusal = (refusal: InvocationRefusal) => told.push(refusal);

    expect(await invokeRemoteAgent(agent.url, "hi", { trust, onRefusal })).toEqual(REFUSED);

    expect(told[0]?.detail).toContain("registry is down");
    expect(agent.seen).toEqual([]);
  });
});

verifies("R94", "every rule rejects a call with the same error", async () => {
  const [first, second] = [await anAgent(), await anAgent()];
  const told: string[] = [];
  const onRefusal = ({ reason }: InvocationRefusal) => told.push(reason);
  const spent = async (options: Parameters<typeof createInvocationBudget>[0]) => {
    const budget = createInvocationBudget(options);
    await invokeRemoteAgent(first.url, "hi", { budget });
    return { budget, onRefusal };
  };

  const refusals = [
    await invokeRemoteAgent(first.url, "hi", await spent({ maxCalls: 1, cooldownMs: 0 })),
    await invokeRemoteAgent(second.url, "hi", await spent({ maxAgents: 1, cooldownMs: 0 })),
    await invokeRemoteAgent(first.url, "hi", await spent({})),
    await invokeRemoteAgent(second.url, "hi", { trust: { of: () => "untrusted" }, onRefusal }),
  ];

  expect(refusals).toEqual(Array(4).fill(REFUSED));
  expect(new Set(told).size).toBe(4);
  expect(second.seen).toEqual([]);
});

verifies("R94", "progress appears as status text", async () => {
  const agent = await anAgent();
  const told: string[] = [];

  await invokeRemoteAgent(agent.url, "hi", { onStatus: (text) => told.push(text) });

  expect(told).toEqual([
    `Invoking remote agent at ${agent.url}...`,
    "Received response from remote agent",
  ]);
});

describe("a URL from a model", () => {
  for (const host of [
    "127.0.0.1",
    "localhost",
    "localhost.",
    "foo.localhost",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "[::1]",
    "[::]",
    "0.0.0.0",
    "[::ffff:127.0.0.1]",
    "[fd00::1]",
    "[fe80::1]",
    "10.0.0.1",
    "169.254.169.254",
    "198.18.0.1",
  ]) {
    verifies("inbound-K12", `does not lead to ${host}`, async () => {
      const agent = await anAgent();
      const url = `http://${host}:${new URL(agent.url).port}`;
      const options = { trusted: false } as const;

      const card = fetchAgentCard(url, options);
      await expect(card).rejects.toThrow(ValidationError);
      await expect(card).rejects.toThrow(/^baseUrl may not be reached: /);
      for (const protocol of ["auto", "a2a", "legacy"] as const) {
        const result = await invokeRemoteAgent(url, "hi", { ...options, protocol });
        expect(result.error).toMatch(/is not a public address/);
      }
      expect(await discoverAgent(url, options)).toBeNull();
      expect(agent.seen).toEqual([]);
    });
  }

  verifies("inbound-K12", "is not served from a trusted caller's cache", async () => {
    const agent = await anAgent();
    await fetchAgentCard(agent.url);

    await expect(fetchAgentCard(agent.url, { trusted: false })).rejects.toThrow(ValidationError);
  });

  verifies("inbound-K12", "may lead to hosts that the operator has listed", async () => {
    const agent = await anAgent();
    const allow = [new URL(agent.url).host];

    const result = await invokeRemoteAgent(agent.url, "hi", { trusted: false, allow });

    expect(result.success).toBe(true);
  });

  test("gets no credentials that are not bound to an origin", async () => {
    const agent = await anAgent();
    const { origin, host } = new URL(agent.url);
    const options = { trusted: false, allow: [host] } as const;

    for (const secret of [{ token: "a-secret" }, { auth: { bearer: "a-secret" } }]) {
      await expect(invokeRemoteAgent(agent.url, "hi", { ...options, ...secret })).rejects.toThrow(
        /must name the origin/,
      );
      await expect(fetchAgentCard(agent.url, { ...options, ...secret })).rejects.toThrow(
        ValidationError,
      );
    }
    expect(agent.seen).toEqual([]);

    const elsewhere = { bearer: "a-secret", origin: "https://other.example" };
    await invokeRemoteAgent(agent.url, "hi", { ...options, auth: elsewhere });
    expect(agent.seen.every(({ headers }) => headers.authorization === undefined)).toBe(true);

    clearAgentCardCache();
    await invokeRemoteAgent(agent.url, "hi", { ...options, auth: { bearer: "a-secret", origin } });
    expect(agent.seen.at(-1)?.headers.authorization).toBe("Bearer a-secret");
  });
});

describe("a trusted agent", () => {
  verifies("inbound-K12", "cannot redirect the caller to another origin", async () => {
    const victim = await anAgent();
    const location = `${victim.url}/a2a/tasks/send`;
    const liar = await LegacyAgent.start({
      card: () => ({ body: legacyCard("http://a.test") }),
      submit: () => ({ status: 307, headers: { location }, body: "" }),
    });
    const mover = await LegacyAgent.start({
      card: () => ({ status: 302, headers: { location: `${victim.url}/x` }, body: "" }),
    });

    const result = await invokeRemoteAgent(liar.url, "hi", { token: "a-secret" });
    const card = fetchAgentCard(mover.url, { token: "a-secret" });

    expect(result.error).toMatch(/^Submit failed: /);
    await expect(card).rejects.toThrow(/another origin/);
    expect(victim.seen).toEqual([]);
  });

  verifies(
    "inbound-K12",
    "cannot direct the message to a private address with its card",
    async () => {
      const victim = await anAgent();
      const liar = await LegacyAgent.start({
        card: () => ({
          body: {
            name: "A",
            version: "1",
            protocolVersion: "0.3.0",
            preferredTransport: "JSONRPC",
            url: `${victim.url}/rpc`,
          },
        }),
      });

      const open = await invokeRemoteAgent(liar.url, "hi");
      const secret = await invokeRemoteAgent(liar.url, "hi", { token: "a-secret" });

      expect(open.error).toMatch(/is not a public address/);
      expect(secret.error).toMatch(/credentials were not given for/);
      expect(victim.seen).toEqual([]);
    },
  );
});

function anAgent(): Promise<LegacyAgent> {
  return LegacyAgent.start({ work: (task) => finish(task, "completed", "done") });
}
