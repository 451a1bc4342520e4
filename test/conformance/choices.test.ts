import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "./conformance-agent.ts";
import { refusalOf } from "./refusal.ts";
import { aRequest } from "./requests.ts";
import type { Speaker } from "./speaker.ts";
import { jsonRpcSpeaker, restSpeaker, speakersOf, speakersTo } from "./speakers.ts";

const server = useServer(conformanceAgent());
const guarded = useServer(conformanceAgent(), { token: "a-secret" });

// The specification leaves room here, so `convoke check` accepts more than one behavior.

describe.each(speakersOf(server, "1.0"))("over $binding $version", (speaker) => {
  verifies("v1-S25", "canceling a task twice returns the canceled task again", async () => {
    const canceled = await aCanceledTask(speaker);

    expect(await speaker.cancel({ taskId: canceled.id })).toEqual(canceled);
  });
});

describe.each(speakersOf(server, "0.3"))("over $binding $version", (speaker) => {
  verifies("v03-S15", "canceling a task twice is rejected", async () => {
    const { id: taskId } = await aCanceledTask(speaker);

    expect((await refusalOf(speaker.cancel({ taskId }))).reason).toBe("TaskNotCancelable");
  });
});

describe.each(speakersTo(server))("over $binding $version", (speaker) => {
  verifies("v1-S33", "each message without a contextId opens a new context", async () => {
    const first = await speaker.sendTask(aRequest("hello"));
    const second = await speaker.sendTask(aRequest("hello"));

    expect(second.contextId).not.toBe(first.contextId);
  });

  verifies("v1-S21", "a historyLength of 0 omits the history, except in 0.3 proto", async () => {
    const sent = await speaker.sendTask(aRequest("hello", { historyLength: 0 }));
    const got = await speaker.get({ taskId: sent.id, historyLength: 0 });

    // An int32 of the 0.3 proto cannot tell 0 from absent, so 0 is no limit there.
    const isProto03 = speaker.codec.dialect === "0.3-proto";
    expect([got, sent].map(({ history }) => history !== undefined)).toEqual([isProto03, isProto03]);
  });
});

describe("0.3", () => {
  verifies("v03-S10", "has no list of tasks over REST either", async () => {
    const refusal = await refusalOf(restSpeaker(server, "0.3").call("listTasks", {}));

    expect(refusal.reason).toBe("UnsupportedOperation");
  });

  for (const speaker of [jsonRpcSpeaker(server, "0.3"), restSpeaker(server, "0.3")]) {
    verifies("v1-S47", `ignores unknown fields over ${speaker.binding}, as 1.0 does`, async () => {
      const params = speaker.codec.encodeSendMessage(aRequest("hello")) as Fields;

      const answer = await speaker.call("sendMessage", {
        ...params,
        future: { deep: true },
        message: { ...(params["message"] as Fields), future: [1] },
      });

      expect(speaker.codec.decodeSendResult(answer)).toMatchObject({
        status: { state: "completed" },
      });
    });
  }
});

verifies(["seed-C17"], "a 401 over JSON-RPC contains a JSON-RPC error", async () => {
  const answer = await fetch(guarded.url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/get", params: { id: "x" } }),
  });

  expect(answer.status).toBe(401);
  expect(await answer.json()).toMatchObject({
    jsonrpc: "2.0",
    error: { code: -32603, data: { reason: "unauthenticated" } },
  });
});

type Fields = Readonly<Record<string, unknown>>;

async function aCanceledTask(speaker: Speaker) {
  const { id: taskId } = await speaker.sendTask(aRequest("ask"));
  return speaker.cancel({ taskId });
}
