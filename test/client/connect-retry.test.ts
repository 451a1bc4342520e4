import { type ConnectOptions, connect } from "@convoke/client";
import { describe, expect, test } from "vitest";
import { type Call, type Reply, pagesV1, result, startFakeAgent } from "./fake-agent.ts";

const TASK = { id: "t1", contextId: "c1", status: { state: "TASK_STATE_COMPLETED" } };
const LOST: Reply = { body: "{", end: "broken" };

/** Responds to the first calls as scripted, and then correctly. */
async function anAgent(first: readonly Reply[]) {
  const replies = [...first];
  const answer = (call: Call) =>
    replies.shift() ?? result(call, call.method === "SendMessage" ? { task: TASK } : TASK);
  return startFakeAgent({ pages: pagesV1(), answer });
}

function quick(retry: ConnectOptions["retry"] = {}): ConnectOptions {
  return { retry: retry === false ? false : { baseMs: 1, ...retry } };
}

describe("a read", () => {
  test.each([
    ["the connection was lost", LOST],
    ["the agent is busy", { status: 429 }],
    ["the agent is unavailable", { status: 503, headers: { "Retry-After": "0" } }],
    ["a proxy lost the agent", { status: 502 }],
    ["a proxy timed out", { status: 504 }],
  ] satisfies [string, Reply][])("is retried when %s", async (_, reply) => {
    const agent = await anAgent([reply, reply]);
    const remote = await connect(agent.url, quick());

    expect((await remote.get("t1")).id).toBe("t1");
    expect(agent.seen).toHaveLength(1 + 3);
  });

  test("is not retried forever, nor after an error of the agent", async () => {
    const agent = await anAgent([...Array<Reply>(3).fill({ status: 503 }), { status: 500 }]);
    const remote = await connect(agent.url, quick());

    await expect(remote.get("t1")).rejects.toMatchObject({ httpStatus: 503 });
    await expect(remote.get("t1")).rejects.toMatchObject({ httpStatus: 500 });
    expect(agent.seen).toHaveLength(1 + 3 + 1);
  });

  test("waits as long as the agent asks, but not longer than allowed", async () => {
    const agent = await anAgent([
      { status: 503, headers: { "Retry-After": "1" } },
      { status: 503, headers: { "Retry-After": "3600" } },
    ]);
    const remote = await connect(agent.url, quick());
    const begun = Date.now();

    await expect(remote.get("t1")).rejects.toMatchObject({ retryAfterMs: 3_600_000 });
    expect(Date.now() - begun).toBeGreaterThanOrEqual(990);
  });

  test("is made once if retries are disabled", async () => {
    const agent = await anAgent([{ status: 503 }]);
    const remote = await connect(agent.url, { retry: false });

    await expect(remote.get("t1")).rejects.toMatchObject({ httpStatus: 503 });
    await expect(connect(agent.url, { retry: { attempts: 0 } })).rejects.toThrow(
      "retry.attempts must be a number of at least 1",
    );
  });

  test("does not wait for an agent that never responds, and an abort ends the waiting", async () => {
    const silent: Reply = { body: "{", end: "never" };
    const agent = await anAgent([silent, { status: 503 }]);
    const { card } = await connect(agent.url);
    const remote = await connect(card, { timeoutMs: 200, retry: { attempts: 1 } });

    await expect(remote.get("t1")).rejects.toMatchObject({
      kind: "unreachable",
      message: `${agent.url}/ did not answer within 200 ms`,
    });
    const patient = await connect(agent.url, { retry: { baseMs: 60_000, maxMs: 60_000 } });
    const signal = AbortSignal.timeout(50);
    await expect(patient.get("t1", { signal })).rejects.toThrow(/aborted due to timeout/);
  });
});

describe("a write", () => {
  test("is retried only if nothing of it can have arrived", async () => {
    const later = { "Retry-After": "0" };
    const agent = await anAgent([
      LOST,
      { status: 502 },
      { status: 503 },
      { status: 429 },
      { status: 503, headers: later },
    ]);
    const remote = await connect(agent.url, quick());

    await expect(remote.cancel("t1")).rejects.toMatchObject({ kind: "unreachable" });
    await expect(remote.cancel("t1")).rejects.toMatchObject({ httpStatus: 502 });
    await expect(remote.cancel("t1")).rejects.toMatchObject({ httpStatus: 503 });
    expect((await remote.cancel("t1")).id).toBe("t1");
    expect(agent.seen).toHaveLength(1 + 6);
  });

  test("a message is left to the run that sends it", async () => {
    const agent = await anAgent([{ status: 429 }]);
    const remote = await connect(agent.url, quick());

    await expect(remote.send("a", { reconnect: false })).rejects.toMatchObject({ httpStatus: 429 });
    expect(agent.seen).toHaveLength(1 + 1);
  });

  test("the former option for messages is refused by name", async () => {
    const agent = await anAgent([]);
    const retry = { sends: "always" } as ConnectOptions["retry"];

    await expect(connect(agent.url, { retry })).rejects.toThrow("retry.sends was removed");
  });
});
