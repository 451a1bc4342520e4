import { type AgentNotice, connect } from "@convoke/client";
import { createJsonLogger } from "@convoke/engine";
import { serve } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { events, json, pagesV03, pagesV1, result, startFakeAgent } from "./fake-agent.ts";
import { verifies } from "../verifies.ts";
import { worker } from "./worker-agent.ts";

function aListener() {
  const notices: AgentNotice[] = [];
  return { notices, onNotice: (notice: AgentNotice) => void notices.push(notice) };
}

const TASK_03 = { kind: "task", id: "t1", contextId: "c1", status: { state: "completed" } };
const { kind: _, ...TASK_BEFORE_03 } = TASK_03;

describe("an agent that uses legacy forms", () => {
  verifies(["v1-C15"], "is understood, logged once, and called in the current form", async () => {
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: (call) =>
        call.method === "SendStreamingMessage" ? events(call, [TASK_03]) : result(call, TASK_03),
    });
    const { notices, onNotice } = aListener();
    const remote = await connect(agent.url, { onNotice });

    for (let count = 0; count < 3; count++) {
      expect((await remote.send("a")).task?.status.state).toBe("completed");
      expect((await remote.stream("a").result).task?.id).toBe("t1");
      expect((await remote.get("t1")).id).toBe("t1");
    }

    expect(notices).toEqual([
      {
        kind: "legacy-form",
        form: "kind",
        message: `${agent.url} uses a legacy form of A2A: its responses have a "kind", which A2A 1.0 removed`,
      },
    ]);
    const sent = agent.seen.flatMap(({ call }) => call ?? []);
    expect(new Set(sent.map(({ method }) => method))).toEqual(
      new Set(["SendMessage", "SendStreamingMessage", "GetTask"]),
    );
    expect(JSON.stringify(sent)).not.toContain('"kind"');
  });

  test("in 0.3 includes one whose responses have no kind", async () => {
    const agent = await startFakeAgent({
      pages: pagesV03(),
      answer: (call) => result(call, TASK_BEFORE_03),
    });
    const { notices, onNotice } = aListener();
    const remote = await connect(agent.url, { onNotice });

    expect((await remote.send("a")).task?.id).toBe("t1");
    expect((await remote.send("b")).task?.id).toBe("t1");

    expect(notices).toMatchObject([{ kind: "legacy-form", form: "no-kind" }]);
  });

  verifies(["v1-C15"], "may do so in its card", async () => {
    const card = { supportsAuthenticatedExtendedCard: true };
    const agent = await startFakeAgent({
      pages: pagesV1(card),
      answer: (call) => result(call, { name: "Extended" }),
    });
    const { notices, onNotice } = aListener();
    const remote = await connect(agent.url, { onNotice });

    expect(await remote.extendedCard()).toMatchObject({ name: "Extended" });

    expect(notices).toMatchObject([{ kind: "legacy-form", form: "extended-card" }]);
    expect(notices[0]?.message).toContain("capabilities.extendedAgentCard");
  });

  test("is understood even if no warning handler is set", async () => {
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: (call) => result(call, TASK_03),
    });

    expect((await (await connect(agent.url)).send("a")).task?.id).toBe("t1");
  });
});

const WAYS = (["jsonrpc", "rest", "grpc"] as const).flatMap((binding) =>
  (["1.0", "0.3"] as const).map((version) => ({ binding, version })),
);

test.each(WAYS)("there is no warning for $version via $binding", async ({ binding, version }) => {
  const logger = createJsonLogger("error", (line) => process.stderr.write(line));
  const server = await serve(worker, { port: 0, data: "memory", logger });
  onTestFinished(() => server.close());
  const { notices, onNotice } = aListener();
  const remote = await connect(server.url, { version, bindings: [binding], onNotice });

  const { task } = await remote.send("count 2");
  await remote.stream("count 2").result;
  await remote.stream("reply").result;
  await remote.get(task?.id ?? "");

  expect(notices).toEqual([]);
});

test("a card for both versions may have both names", async () => {
  const agent = await startFakeAgent({
    pages: {
      "/.well-known/agent-card.json": (origin) =>
        json({
          ...(JSON.parse(pagesV1()["/.well-known/agent-card.json"]?.(origin).body ?? "") as object),
          capabilities: { extendedAgentCard: true },
          supportsAuthenticatedExtendedCard: true,
        }),
    },
  });
  const { notices, onNotice } = aListener();

  await connect(agent.url, { onNotice });

  expect(notices).toEqual([]);
});
