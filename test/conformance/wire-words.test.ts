import type { ProtocolVersion } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "./conformance-agent.ts";
import { jsonRpcSpeaker, restSpeaker } from "./speakers.ts";
import { aMessage, aRequest } from "./requests.ts";
import type { Speaker } from "./speaker.ts";

const server = useServer(conformanceAgent());

/** Those who write JSON. */
function writersOf(version: ProtocolVersion): readonly Speaker[] {
  return [jsonRpcSpeaker(server, version), restSpeaker(server, version)];
}

const UTC = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;

describe.each(writersOf("1.0"))("1.0 over $binding", (speaker) => {
  verifies(
    ["v1-S44", "v1-S45", "v1-S46"],
    "is written in ProtoJSON with times in UTC",
    async () => {
      const { task } = (await send(speaker, "ask")) as { readonly task: object };

      expect(task).toMatchObject({
        id: expect.any(String) as string,
        contextId: expect.any(String) as string,
        status: {
          state: "TASK_STATE_INPUT_REQUIRED",
          timestamp: UTC,
          message: {
            messageId: expect.any(String) as string,
            role: "ROLE_AGENT",
            parts: { 0: { text: "well?" } },
          },
        },
        history: { 0: { role: "ROLE_USER", parts: [{ text: "ask" }] } },
      });
      expect(namesIn(task).filter((name) => !/^[a-z][a-zA-Z]*$/.test(name))).toEqual([]);
      expect(namesIn(task)).not.toContain("kind");
    },
  );

  verifies("v1-S47", "may have fields that nobody knows", async () => {
    const params = speaker.codec.encodeSendMessage(aRequest("hello")) as Fields;
    const message = params["message"] as Fields;
    const [part] = message["parts"] as readonly Fields[];

    const answer = await speaker.call("sendMessage", {
      ...params,
      future: { deep: true },
      configuration: { future: 1 },
      message: { ...message, future: [1], parts: [{ ...part, future: null }] },
    });

    expect(speaker.codec.decodeSendResult(answer)).toMatchObject({
      status: { state: "completed" },
    });
  });
});

describe.each(writersOf("0.3"))("0.3 over $binding", (speaker) => {
  verifies("v1-S47", "may have fields that nobody knows", async () => {
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
});

describe("0.3 over JSON-RPC", () => {
  verifies("v03-S21", "has kinds, says what is final, and has times in ISO 8601", async () => {
    const task = await send(jsonRpcSpeaker(server, "0.3"), "ask");

    expect(task).toMatchObject({
      kind: "task",
      status: {
        state: "input-required",
        timestamp: UTC,
        message: { kind: "message", role: "agent", parts: { 0: { kind: "text", text: "well?" } } },
      },
      history: { 0: { kind: "message", role: "user", parts: [{ kind: "text", text: "ask" }] } },
    });
  });

  verifies(
    ["v03-S7", "v03-S21"],
    "streams whole responses with the id of the request",
    async () => {
      const answer = await post({
        jsonrpc: "2.0",
        id: "abc",
        method: "message/stream",
        params: aSend(),
      });
      const bodies = (await answer.text())
        .split("\n")
        .filter((line) => line.startsWith("data: "))
        .map((line) => JSON.parse(line.slice("data: ".length)) as RpcBody);

      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("text/event-stream");
      for (const body of bodies) expect(body).toMatchObject({ jsonrpc: "2.0", id: "abc" });
      expect(bodies.map(({ result }) => [result.kind, result.final])).toEqual([
        ["task", undefined],
        ["status-update", false],
        ["artifact-update", undefined],
        ["status-update", true],
      ]);
    },
  );

  verifies(
    ["v03-S6"],
    "answers with the id of the request, or null where there is none",
    async () => {
      const answers = [
        await post({ jsonrpc: "2.0", id: "x", method: "message/send", params: aSend() }),
        await post({ jsonrpc: "2.0", id: 0, method: "tasks/dance" }),
        await post({ jsonrpc: "1.0", method: "tasks/get" }),
        await post("no JSON"),
      ];
      const bodies = await Promise.all(
        answers.map(async (answer) => (await answer.json()) as RpcBody),
      );

      expect(bodies.map(({ id, error }) => [id, error?.code])).toEqual([
        ["x", undefined],
        [0, -32601],
        [null, -32600],
        [null, -32700],
      ]);
      for (const { headers } of answers)
        expect(headers.get("content-type")).toBe("application/json");
      for (const body of bodies) {
        expect(Object.hasOwn(body, "result")).not.toBe(Object.hasOwn(body, "error"));
      }
    },
  );
});

type Fields = Readonly<Record<string, unknown>>;

interface RpcBody {
  readonly id: unknown;
  readonly result: { readonly kind: string; readonly final?: boolean };
  readonly error?: { readonly code: number };
}

/** The answer to a send as it was written. */
function send(speaker: Speaker, text: string): Promise<unknown> {
  return speaker.call("sendMessage", speaker.codec.encodeSendMessage(aRequest(text)));
}

function aSend(): object {
  return { message: aMessage("hello") };
}

/** Posts a JSON-RPC body, or something that is none. */
function post(body: object | string): Promise<Response> {
  return fetch(server.url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** Every name of a field in some JSON. */
function namesIn(json: unknown): readonly string[] {
  if (typeof json !== "object" || json === null) return [];
  if (Array.isArray(json)) return json.flatMap(namesIn);
  return Object.entries(json).flatMap(([name, value]) => {
    // Their content is the agent's own.
    const isFree = name === "data" || name === "metadata";
    return [name, ...(isFree ? [] : namesIn(value))];
  });
}
