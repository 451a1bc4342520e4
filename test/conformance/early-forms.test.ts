import { CODECS } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "./conformance-agent.ts";
import { jsonRpcSpeaker, restSpeaker } from "./speakers.ts";
import { refusalOf } from "./refusal.ts";
import { aRequest } from "./requests.ts";

const server = useServer(conformanceAgent());
const confirming = useServer(conformanceAgent(), { compat: { pushSuccess: true } });
const jsonRpc = jsonRpcSpeaker(server, "0.3");

describe("a body with kinds on REST", () => {
  verifies("seed-C7", "gets a response with kinds, without an envelope", async () => {
    const answer = await post("/v1/message:send", { message: withKind("message") });

    expect(await answer.json()).toMatchObject({
      kind: "task",
      status: { state: "completed" },
      history: { 0: { kind: "message", role: "user" } },
    });
  });

  verifies("seed-C7", "gets bare events with kinds in a stream", async () => {
    const answer = await post("/v1/message:stream", { message: withKind("message") });
    const events = (await answer.text())
      .split("\n")
      .filter((line) => line.startsWith("data: "))
      .map((line) => JSON.parse(line.slice("data: ".length)) as { readonly kind: string });

    expect(events.map(({ kind }) => kind)).toEqual([
      "task",
      "status-update",
      "artifact-update",
      "status-update",
    ]);
  });

  verifies("seed-C7", "differs from what a body without kinds gets", async () => {
    const speaker = restSpeaker(server, "0.3");
    const params = speaker.codec.encodeSendMessage(aRequest("hello"));

    const answer = await speaker.call("sendMessage", params);

    expect(answer).toMatchObject({ task: { status: { state: "TASK_STATE_COMPLETED" } } });
  });
});

describe("the kind of a message", () => {
  verifies("seed-C13", "may be omitted", async () => {
    const { kind: _, ...message } = withKind("message");

    const answer = await jsonRpc.call("sendMessage", { message });

    expect(answer).toMatchObject({ kind: "task", status: { state: "completed" } });
  });

  for (const kind of ["task", "text", ""]) {
    verifies("seed-C13", `must not be ${JSON.stringify(kind)}`, async () => {
      const refusal = await refusalOf(jsonRpc.call("sendMessage", { message: withKind(kind) }));

      expect(refusal).toMatchObject({ code: -32602, field: "message.kind" });
    });
  }
});

describe("headers of a push config", () => {
  const url = "https://hooks.example.com/";

  verifies("seed-C15", "are stored, and the response is the config", async () => {
    const { id: taskId } = await jsonRpc.sendTask(aRequest("ask"));
    const pushNotificationConfig = { url, headers: { "X-Api-Key": "secret" } };

    const answer = await jsonRpc.call("createPushConfig", { taskId, pushNotificationConfig });

    expect(answer).toMatchObject({ taskId, pushNotificationConfig });
    await jsonRpc.cancel({ taskId });
  });

  verifies(
    "seed-C15",
    "get a response with success if the server is configured that way",
    async () => {
      const speaker = jsonRpcSpeaker(confirming, "0.3");
      const { id: taskId } = await speaker.sendTask(aRequest("ask"));

      const answer = await speaker.call("createPushConfig", {
        taskId,
        pushNotificationConfig: { url },
      });

      expect(answer).toMatchObject({ taskId, pushNotificationConfig: { url }, success: true });
    },
  );

  for (const name of ["Host", "Content-Length", "Connection", "Transfer-Encoding"]) {
    verifies("seed-C15", `must not include ${name}`, async () => {
      const { id: taskId } = await jsonRpc.sendTask(aRequest("ask"));
      const pushNotificationConfig = { url, headers: { [name]: "1" } };

      const refusal = await refusalOf(
        jsonRpc.call("createPushConfig", { taskId, pushNotificationConfig }),
      );

      expect(refusal.code).toBe(-32602);
      expect(refusal.message).toContain(name);
    });
  }
});

describe("an early spelling of a state", () => {
  for (const [id, early, official] of [
    ["seed-C3", "started", "submitted"],
    ["seed-C4", "cancelled", "canceled"],
  ] as const) {
    verifies(id, `${early} is read as ${official}`, () => {
      const task = { kind: "task", id: "t1", contextId: "c1", status: { state: early } };

      expect(CODECS["0.3"].decodeTask(task).status.state).toBe(official);
    });
  }

  verifies(["seed-C3", "seed-C4"], "is never written", async () => {
    const { id: taskId } = await jsonRpc.sendTask(aRequest("ask"));

    const canceled = await jsonRpc.call("cancelTask", { id: taskId });
    const begun = await post("/", {
      jsonrpc: "2.0",
      id: 1,
      method: "message/stream",
      params: { message: withKind("message") },
    });

    expect(canceled).toMatchObject({ status: { state: "canceled" } });
    expect(await begun.text()).toContain('"state":"submitted"');
  });
});

function withKind(kind: string): { readonly kind: string } {
  const message: object = aRequest("hello").message;
  return { ...message, kind };
}

function post(path: string, body: object): Promise<Response> {
  return fetch(new URL(path, server.url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}
