import { describe, expect } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";
import { verifies } from "../verifies.ts";
import type { Frame } from "../wire/wire-stream.ts";
import { useServer } from "../wire/wire-server.ts";
import { RestClient, valueOf } from "./rest-client.ts";
import { KIND_03, PROTO_03, V1 } from "./rest-dialect.ts";

const server = useServer();
const kinds = new RestClient(server, KIND_03);
const protos = new RestClient(server, PROTO_03);

describe("a body with kinds", () => {
  verifies("R21", "gets a bare task, whose kind comes first", async () => {
    const { text } = await kinds.send("hello");

    expect(text).toMatch(/^\{"kind":"task"/);
    expect(JSON.parse(text)).toMatchObject({
      kind: "task",
      status: { state: "completed" },
      artifacts: [{ parts: [{ kind: "text" }] }],
      history: [{ kind: "message", role: "user", parts: [{ kind: "text", text: "hello" }] }],
    });
  });

  verifies("R21", "gets a bare message if there is no task", async () => {
    expect(valueOf(await kinds.send("message"))).toMatchObject({
      kind: "message",
      role: "agent",
      parts: [{ kind: "text" }],
    });
  });

  verifies("R21", "gets a stream of bare events", async () => {
    const frames = await (await kinds.stream("hello")).all;

    expect(frames.map(({ text }) => (JSON.parse(text) as { kind: string }).kind)).toEqual([
      "task",
      "status-update",
      ...frames.slice(3).map(() => "artifact-update"),
      "status-update",
    ]);
    expect(lastOf(frames)).toMatchObject({ final: true, status: { state: "completed" } });
  });

  for (const [where, message] of [
    ["the message alone", { kind: "message", parts: [{ kind: "text", text: "hi" }] }],
    ["the parts alone", { parts: [{ kind: "text", text: "hi" }] }],
  ] as const) {
    verifies("R21", `is recognized by ${where}`, async () => {
      const body = { message: { messageId: `known-by-${where}`, role: "user", ...message } };

      expect(valueOf(await kinds.post("message:send", body))).toMatchObject({ kind: "task" });
    });
  }

  verifies("R21", "is validated by the rules of its dialect", async () => {
    const { status, text } = await kinds.send("hi", { message: { role: "ROLE_USER" } });

    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ code: -32602, data: { field: "message.role" } });
  });
});

describe("any other request in 0.3", () => {
  verifies("R21", "gets ProtoJSON, under the name of its type", async () => {
    expect(valueOf(await protos.send("hello"))).toMatchObject({
      task: {
        status: { state: "TASK_STATE_COMPLETED" },
        history: [{ role: "ROLE_USER", content: [{ text: "hello" }] }],
      },
    });
    expect(valueOf(await protos.send("message"))).toMatchObject({
      message: { role: "ROLE_AGENT", content: [{}] },
    });
  });

  verifies("R21", "gets a stream of ProtoJSON", async () => {
    const stream = await protos.stream("hello");
    const frames = await stream.all;

    expect(frames.map(({ text }) => Object.keys(JSON.parse(text) as object))).toEqual([
      ["task"],
      ["statusUpdate"],
      ...frames.slice(3).map(() => ["artifactUpdate"]),
      ["statusUpdate"],
    ]);
    expect(lastOf(frames)).toMatchObject({
      statusUpdate: { final: true, status: { state: "TASK_STATE_COMPLETED" } },
    });
    expect(stream.raw).not.toContain('"kind"');
  });

  verifies("R21", "gets ProtoJSON for a task that was sent with kinds", async () => {
    const task = await kinds.sendTask("hello");

    const { text } = await kinds.get(`tasks/${task.id}`);

    expect(text).not.toContain('"kind"');
    expect(PROTO_03.codec.decodeTask(JSON.parse(text))).toEqual(task);
  });
});

verifies(
  "R21",
  "1.0 has no kinds, and does not treat them as a sign of another dialect",
  async () => {
    const answer = await new RestClient(server, V1).send("hello", { message: { kind: "message" } });

    expect(valueOf(answer)).toMatchObject({ task: { status: { state: "TASK_STATE_COMPLETED" } } });
  },
);

describe("a request in 0.3 without a body that could show its dialect", () => {
  for (const [how, query, headers] of [
    ["by its Accept header", "", { accept: "application/json; dialect=kind" }],
    ["by its query", "?dialect=kind", {}],
  ] as const) {
    verifies(["R22", "R23", "R24"], `asks for kinds ${how}`, async () => {
      const task = await kinds.sendTask("ask");

      const got = await kinds.get(`tasks/${task.id}${query}`, headers);
      const stream = await kinds.open(`tasks/${task.id}:subscribe${query}`, {
        method: "POST",
        headers: { ...headers, "last-event-id": "0" },
      });
      await stream.take(3);
      const canceled = await kinds.ask(`tasks/${task.id}:cancel${query}`, {
        method: "POST",
        headers,
      });
      const frames = await stream.all;

      expect(KIND_03.codec.decodeTask(JSON.parse(got.text))).toEqual(task);
      expect(got.text).toMatch(/^\{"kind":"task"/);
      expect(JSON.parse(canceled.text)).toMatchObject({
        kind: "task",
        status: { state: "canceled" },
      });
      expect(frames.map(({ text }) => (JSON.parse(text) as { kind: string }).kind)).toEqual([
        "task",
        ...frames.slice(1).map(() => "status-update"),
      ]);
    });
  }

  verifies(
    "R21",
    "gets ProtoJSON for any other dialect, and if it does not accept kinds",
    async () => {
      const { id } = await kinds.sendTask("hello");

      for (const answer of [
        await kinds.get(`tasks/${id}?dialect=proto`),
        await kinds.get(`tasks/${id}`, {
          accept: "application/json, text/plain; dialect=kind; q=0",
        }),
        await protos.send("hello", {}),
      ]) {
        expect(answer.text).not.toContain('"kind"');
      }
    },
  );
});

describe("frames of both kinds", () => {
  const both = useServer(demoAgent, { restFrames: "both" });

  verifies(
    "seed-C7",
    "are the bare event and a JSON-RPC response with the same event",
    async () => {
      const stream = await new RestClient(both, KIND_03).stream("hello");
      const frames = (await stream.all).map(
        ({ text }) => JSON.parse(text) as { readonly result: { readonly id?: string } },
      );

      for (const frame of frames) {
        const { result } = frame;
        expect(frame).toEqual({ id: null, ...result, jsonrpc: "2.0", result });
      }
      expect(frames.length).toBeGreaterThan(2);
      expect(
        (await (await new RestClient(both, PROTO_03).stream("hello")).all)[0]?.text,
      ).not.toContain("jsonrpc");
    },
  );
});

function lastOf(frames: readonly Frame[]): unknown {
  return JSON.parse(frames.at(-1)?.text ?? "null");
}
