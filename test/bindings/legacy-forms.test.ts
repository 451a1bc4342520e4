import { artifact, defineAgent } from "convoke";
import { EXTENSIONS } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";

const agent = defineAgent({
  name: "Asker",
  description: "Asks, hands over data, or repeats what it got.",
  async *run({ text, ask, message }) {
    if (text === "ask") return `you said ${await ask("well?")}`;
    if (text === "data") return yield artifact("order", { total: 5 });
    return JSON.stringify(message.parts);
  },
});

const server = useServer(agent);
const strict = useServer(agent, { strict: true });
let ids = 0;

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly body: {
    readonly result?: Body;
    readonly error?: { readonly code: number; readonly message: string };
  };
}

interface Body {
  readonly id: string;
  readonly contextId: string;
  readonly status: {
    readonly state: string;
    readonly message?: { readonly inputRequest: { readonly requestId: string } };
  };
  readonly artifacts?: readonly {
    readonly parts: readonly { readonly text?: string; readonly kind: string }[];
  }[];
}

describe("a form from the early documents", () => {
  verifies(
    "seed-C1",
    "tasks/get {taskId} with Accept: text/event-stream is a subscription",
    async () => {
      const { body } = await call(server.url, "message/send", { message: aMessage("hello") });
      const taskId = body.result?.id;

      const events = await call(
        server.url,
        "tasks/get",
        { taskId },
        { accept: "text/event-stream" },
      );
      const plain = await call(server.url, "tasks/get", { taskId });
      const official = await call(
        server.url,
        "tasks/get",
        { id: taskId },
        { accept: "text/event-stream" },
      );

      expect(events.type).toBe("text/event-stream");
      expect(events.text).toContain('"kind":"task"');
      expect(plain.body.result?.id).toBe(taskId);
      expect(official.type).toBe("application/json");
    },
  );

  verifies("seed-C21", "a tool result and an input request are received as data", async () => {
    const { body } = await call(server.url, "message/send", {
      message: {
        ...aMessage("x"),
        parts: [{ kind: "tool-result", toolUseId: "t1", result: { ok: true } }],
        inputRequest: { kind: "confirmation", prompt: "Sure?" },
      },
    });

    const got = JSON.parse(textOf(body.result)) as {
      kind: string;
      data: unknown;
      metadata: unknown;
    }[];
    expect(got.map(({ kind }) => kind)).toEqual(["data", "data"]);
    expect(got[0]?.data).toEqual({ toolUseId: "t1", result: { ok: true } });
    expect(got[1]?.data).toEqual({ kind: "confirmation", prompt: "Sure?" });
    expect(got.map(({ metadata }) => metadata)).toEqual([
      { [EXTENSIONS.clientTools.uri]: { type: "tool-result" } },
      { [EXTENSIONS.clientTools.uri]: { type: "input-request" } },
    ]);
  });

  verifies(
    "seed-C20",
    "a tool's result for the question of a task it refers to is its answer",
    async () => {
      const asked = await call(server.url, "message/send", { message: aMessage("ask") });
      const taskId = asked.body.result?.id;
      const toolUseId = asked.body.result?.status.message?.inputRequest.requestId;
      const parts = [{ kind: "tool-result", toolUseId, result: "yes" }];

      const answered = await call(server.url, "message/send", {
        message: { ...aMessage("yes"), parts, referenceTaskIds: [taskId] },
      });

      expect(asked.body.result?.status.state).toBe("input-required");
      expect(answered.body.result?.id).toBe(taskId);
      expect(answered.body.result?.status.state).toBe("completed");
    },
  );

  verifies("seed-C20", "a reference without a tool result starts a new task", async () => {
    const asked = await call(server.url, "message/send", { message: aMessage("ask") });
    const taskId = asked.body.result?.id;

    const other = await call(server.url, "message/send", {
      message: { ...aMessage("hi"), referenceTaskIds: [taskId] },
    });

    expect(other.body.result?.id).not.toBe(taskId);
  });

  test("is rejected if only official forms are allowed", async () => {
    const parts = [{ kind: "tool-result", toolUseId: "t1", result: 1 }];

    const { body } = await call(strict.url, "message/send", {
      message: { ...aMessage("x"), parts },
    });

    expect(body.error?.code).toBe(-32602);
  });
});

describe("a version that contradicts its method", () => {
  test("is served according to the method", async () => {
    const { body } = await call(
      server.url,
      "message/send",
      { message: aMessage("hi") },
      { "a2a-version": "1.0" },
    );

    expect(body.result?.status.state).toBe("completed");
  });

  test("is rejected in strict mode", async () => {
    const { body } = await call(
      strict.url,
      "message/send",
      { message: aMessage("hi") },
      { "a2a-version": "1.0" },
    );

    expect(body.error?.code).toBe(-32601);
  });
});

describe("media types", () => {
  test("that the agent does not accept are -32005 with the part", async () => {
    const parts = [{ kind: "file", file: { mimeType: "image/png", bytes: "aGk=" } }];

    const { body } = await call(server.url, "message/send", {
      message: { ...aMessage("x"), parts },
    });

    expect(body.error?.code).toBe(-32005);
    expect(body.error?.message).toContain("message.parts[0] is image/png");
  });

  verifies("R14", "that the caller does not accept are converted to text", async () => {
    const configuration = { acceptedOutputModes: ["text/plain"] };

    const sent = await call(server.url, "message/send", {
      message: aMessage("data"),
      configuration,
    });
    const streamed = await call(server.url, "message/stream", {
      message: aMessage("data"),
      configuration,
    });
    const whole = await call(server.url, "message/send", { message: aMessage("data") });

    expect(sent.body.result?.artifacts?.[0]?.parts).toEqual([
      { kind: "text", text: '{"total":5}' },
    ]);
    expect(streamed.text).toContain('{"kind":"text","text":"{\\"total\\":5}"}');
    expect(whole.body.result?.artifacts?.[0]?.parts[0]?.kind).toBe("data");
  });
});

function aMessage(text: string): object {
  return { messageId: `m-${++ids}`, role: "user", parts: [{ kind: "text", text }] };
}

function textOf(result: Body | undefined): string {
  return result?.artifacts?.[0]?.parts.map(({ text }) => text).join("") ?? "";
}

async function call(
  url: string,
  method: string,
  params: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const text = await response.text();
  const type = response.headers.get("content-type") ?? "";
  return {
    status: response.status,
    type,
    text,
    body: (type === "application/json" ? JSON.parse(text) : {}) as Answer["body"],
  };
}
