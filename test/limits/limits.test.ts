import { type AgentDefinition, artifact, defineAgent } from "convoke";
import { createMemoryBackend } from "@convoke/engine/memory";
import type { Limits } from "@convoke/engine";
import { type Server, serve } from "@convoke/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { verifies } from "../verifies.ts";
import { DIALECTS, type Dialect, aMessage } from "../wire/dialect.ts";

const never = (): Promise<never> => new Promise(() => undefined);

describe.each(DIALECTS)("over A2A $version", (dialect) => {
  verifies("G14", "a body that is too large is rejected with the name of its limit", async () => {
    const server = await aServer({ bodyBytes: 2000 });

    const { status, error } = await send(server, dialect, {
      parts: [dialect.text("x".repeat(3000))],
    });

    expect(status).toBe(413);
    expect(error).toContain("bodyBytes");
  });

  verifies(
    "G14",
    "a message with too many parts gets an error with the limit and the field",
    async () => {
      const server = await aServer({ parts: 2 });
      const parts = [1, 2, 3].map(() => dialect.text("x"));

      const { status, error } = await send(server, dialect, { parts });

      expect(status).toBe(200);
      expect(error).toContain("message.parts has 3 parts, the limit parts is 2");
    },
  );

  verifies(
    "G14",
    "a text that is too long gets an error with the limit and the field",
    async () => {
      const server = await aServer({ textLength: 10 });

      const { error } = await send(server, dialect, { parts: [dialect.text("x".repeat(11))] });

      expect(error).toContain(
        "message.parts[0].text has 11 characters, the limit textLength is 10",
      );
    },
  );

  verifies("G14", "a full history accepts no more messages", async () => {
    const server = await aServer(
      { history: 3 },
      {
        run: async ({ ask }) => `${await ask("one?")} ${await ask("two?")} ${await ask("three?")}`,
      },
    );
    const { taskId } = await send(server, dialect, {});
    await send(server, dialect, { taskId });

    const { error } = await send(server, dialect, { taskId });

    expect(error).toContain("the limit history is 3");
  });

  test("output of an agent within the limit is kept", async () => {
    const server = await aServer(
      { artifacts: 3 },
      {
        async *run() {
          for (let n = 0; n < 10; n++) yield artifact(`file-${n}`, "text");
        },
      },
    );

    const { state, artifacts } = await send(server, dialect, {});

    expect(state).toContain("FAILED");
    expect(artifacts).toBe(3);
  });

  verifies(
    "G14",
    "an owner with too many unfinished tasks gets an error that says to end some",
    async () => {
      const server = await aServer({ openTasks: 2 }, { run: async ({ ask }) => ask("well?") });
      const first = await send(server, dialect, {});
      await send(server, dialect, {});

      const refused = await send(server, dialect, {});
      await cancel(server, dialect, first.taskId);
      const accepted = await send(server, dialect, {});

      expect(refused).toMatchObject({ status: 429, retryAfter: "1" });
      expect(refused.error).toContain("openTasks");
      expect(accepted.state).toContain("INPUT_REQUIRED");
    },
  );

  verifies(
    "G14",
    "a task with too many streams accepts no more readers until one has left",
    async () => {
      const server = await aServer(
        { streams: 2 },
        {
          async *run() {
            yield "a";
            await never();
          },
        },
      );
      const first = await openStream(server, dialect, "stream", {
        message: aMessage(dialect, "go"),
      });
      const taskId = await first.taskId();
      const second = await openStream(server, dialect, "subscribe", { id: taskId });

      const refused = await call(server, dialect, "subscribe", { id: taskId });
      await second.leave();
      await expect
        .poll(async () => {
          const again = await openStream(server, dialect, "subscribe", { id: taskId });
          await again.leave();
          return again.status;
        })
        .toBe(200);

      expect(refused).toMatchObject({ status: 429, retryAfter: "1" });
      expect(refused.error).toContain("streams");
      await first.leave();
    },
  );

  const chatter = async function* (): AsyncGenerator<string> {
    for (;;) yield "word ";
  };

  test.each<[keyof Limits, number, AgentDefinition["run"]]>([
    ["events", 50, chatter],
    ["artifactLength", 100, chatter],
    [
      "artifacts",
      3,
      async function* () {
        for (let n = 0; ; n++) yield artifact(`file-${n}`, "text");
      },
    ],
    [
      "history",
      5,
      async function* ({ status }) {
        for (let n = 0; ; n++) yield status(`still at it, ${n}`);
      },
    ],
  ])(
    "an agent that exceeds %s fails with the name of the limit, and the server does not",
    async (limit, most, run) => {
      const server = await aServer({ [limit]: most }, { run });

      const { state, text } = await send(server, dialect, {});
      const next = await send(server, dialect, {});

      expect(state).toContain("FAILED");
      expect(text).toBe(
        `The agent reached a limit of this server: ${limit} is limited to ${most}.`,
      );
      expect(next.state).toContain("FAILED");
    },
  );
});

test("an invalid limit is rejected at the start", async () => {
  await expect(aServer({ parts: 0 })).rejects.toThrow(
    "limits.parts must be a whole number above 0",
  );
});

async function aServer(
  limits: Partial<Limits>,
  definition: Partial<AgentDefinition> = {},
): Promise<Server> {
  const agent = defineAgent({
    name: "Limited",
    description: "Does what it is told.",
    run: async () => "done",
    ...definition,
  });
  const server = await serve(agent, {
    port: 0,
    host: "127.0.0.1",
    logger: memoryLogger(),
    openBackend: async () => createMemoryBackend(),
    limits,
  });
  onTestFinished(() => server.close());
  return server;
}

interface Told {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly error: string;
  readonly taskId: string;
  /** As 1.0 spells it. */
  readonly state: string;
  readonly text: string;
  readonly artifacts: number;
}

function send(server: Server, dialect: Dialect, fields: object): Promise<Told> {
  return call(server, dialect, "send", { message: aMessage(dialect, "go", fields) });
}

function cancel(server: Server, dialect: Dialect, id: string): Promise<Told> {
  return call(server, dialect, "cancel", { id });
}

async function call(
  server: Server,
  dialect: Dialect,
  verb: keyof Dialect["methods"],
  params: object,
): Promise<Told> {
  const response = await post(server, dialect, verb, params);
  const answer = (await response.json()) as {
    result?: TaskJson & { task?: TaskJson };
    error?: { message: string };
  };
  const task = answer.result?.task ?? answer.result;
  const state = task?.status?.state ?? "";
  return {
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    error: answer.error?.message ?? "",
    taskId: task?.id ?? "",
    state: state.toUpperCase().replace("-", "_"),
    text: task?.status?.message?.parts[0]?.text ?? "",
    artifacts: task?.artifacts?.length ?? 0,
  };
}

interface TaskJson {
  readonly id?: string;
  readonly artifacts?: readonly object[];
  readonly status?: {
    readonly state: string;
    readonly message?: { readonly parts: readonly { readonly text: string }[] };
  };
}

async function openStream(
  server: Server,
  dialect: Dialect,
  verb: keyof Dialect["methods"],
  params: object,
) {
  const response = await post(server, dialect, verb, params);
  const reader = response.body!.getReader();
  return {
    status: response.status,
    taskId: async () => {
      const { value } = await reader.read();
      return /"id":"([0-9a-f-]{36})"/.exec(new TextDecoder().decode(value))?.[1] ?? "";
    },
    leave: () => reader.cancel(),
  };
}

function post(
  server: Server,
  { version, methods }: Dialect,
  verb: keyof Dialect["methods"],
  params: object,
): Promise<Response> {
  return fetch(server.url, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": version },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: methods[verb], params }),
  });
}
