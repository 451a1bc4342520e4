import { type AgentDefinition, NoAnswerError } from "convoke";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { type A2APart, type Task, textOf, textOfParts } from "@convoke/protocol";
import { openRequestsOf } from "@convoke/runtime";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Client, servedFunction } from "../approvals/a-served-agent.ts";
import { World } from "../engine/a-world.ts";
import { tell } from "../engine/an-engine.ts";
import { Webhook } from "../push/a-webhook.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";

/** A served function that has asked, and an A2A 0.3 caller. */
async function asked(run: AgentDefinition["run"], options = {}) {
  const agent = await servedFunction(run, options);
  const client = new Client(agent);
  const task = await client.send("go");
  const requestId = openRequestsOf(task)[0]?.requestId ?? "";
  return { agent, client, task, taskId: task.id, requestId };
}

function data(value: object): A2APart {
  return { kind: "data", data: value };
}

/** The request for early clients, in addition to the message. */
function inputRequestOf({ status }: Task): unknown {
  return (status.message as { readonly inputRequest?: unknown } | undefined)?.inputRequest;
}

describe("a question of a function", () => {
  const askKey: AgentDefinition["run"] = async ({ ask }) => `<${await ask("Enter API key:")}>`;

  verifies("R57", "has text, a data part, and an inputRequest unless strict", async () => {
    const { task, requestId } = await asked(askKey);
    const { task: strictTask } = await asked(askKey, { strict: true });
    const request = {
      kind: "input-request",
      prompt: "Enter API key:",
      sensitive: false,
      requestId,
    };

    expect(requestId).not.toBe("");
    expect(task.status.state).toBe("input-required");
    expect(textOfParts(task.status.message!.parts)).toBe("Enter API key:");
    expect(task.status.message!.parts[1]).toMatchObject({ kind: "data", data: request });
    expect(inputRequestOf(task)).toEqual(request);
    expect(strictTask.status.message!.parts).toHaveLength(2);
    expect(inputRequestOf(strictTask)).toBeUndefined();
  });

  verifies("R58", "is answered as in early documents, without the id of its task", async () => {
    const { client, task } = await asked(askKey);
    const { requestId } = inputRequestOf(task) as { readonly requestId: string };
    const result = { kind: "tool-result", toolUseId: requestId, result: { value: "key-123" } };
    const text = { kind: "text", text: "Here is the requested input:" };

    const frames = await client.stream([text, result] as never, { referenceTaskIds: [task.id] });

    expect(frames).toContain('"text":"<key-123>"');
    expect(frames).toContain('"state":"completed"');
    expect((await client.get(task.id)).status.state).toBe("completed");
  });

  verifies("R58", "prefers a data part with its id to any text", async () => {
    const { client, taskId, requestId } = await asked(askKey);
    const answer = [{ kind: "text", text: "It is:" } as const, data({ requestId, value: "key" })];

    expect(textOf(await client.send(answer, { taskId }))).toBe("<key>");
  });

  test.each(["requestId", "toolUseId"])("is not answered by another %s: -32602", async (name) => {
    const { client, taskId } = await asked(askKey);

    const { error } = await client.trySend([data({ [name]: "input-1", value: "x" })], { taskId });

    expect(error?.code).toBe(-32602);
    expect(error?.message).toContain(`message.parts[0].data.${name} is nothing that this task`);
    expect(textOf(await client.send("key", { taskId }))).toBe("<key>");
  });

  test("returns the complete message, with its files, to a function that requests it", async () => {
    const { client, taskId } = await asked(async ({ ask }) => {
      const { parts } = await ask.message("Send the file.");
      return parts.map((part) => (part.kind === "file" ? part.file.name : part.kind)).join(" ");
    });
    const file = { kind: "file", file: { name: "a.txt", bytes: "YQ==" } } as const;

    const done = await client.send([{ kind: "text", text: "Here." }, file], { taskId });

    expect(textOf(done)).toBe("text a.txt");
  });
});

describe("a question with choices", () => {
  const refund: AgentDefinition["run"] = async ({ ask }) => {
    const answer: "Yes" | "No" = await ask("Refund?", ["Yes", "No"]);
    return `<${answer}>`;
  };

  test.each(["value", "result"])("rejects another %s with -32602 and lists them", async (name) => {
    const { client, taskId, requestId } = await asked(refund);
    const id = name === "value" ? { requestId } : { toolUseId: requestId };

    const { error } = await client.trySend([data({ ...id, [name]: "maybe" })], { taskId });

    expect(error?.code).toBe(-32602);
    expect(error?.message).toContain("must answer with one of Yes, No");
    expect(textOf(await client.send([data({ ...id, [name]: "no" })], { taskId }))).toBe("<No>");
  });

  test("is asked again after a text that is none of them, ignoring case", async () => {
    const { client, taskId } = await asked(refund);

    const again = await client.send("maybe", { taskId });

    expect(again.status.state).toBe("input-required");
    expect(textOfParts(again.status.message!.parts)).toBe("Please answer with one of: Yes, No.");
    expect(textOf(await client.send(" yEs ", { taskId }))).toBe("<Yes>");
  });
});

describe("a question with a schema", () => {
  const order = z.object({ amount: z.number().min(1), note: z.string().optional() });
  const ask: AgentDefinition["run"] = async (turn) => {
    const { amount, note } = await turn.ask("How much?", { schema: order });
    return `${amount.toFixed(2)} ${note?.trim() ?? "-"}`;
  };

  test("includes it for programs", async () => {
    const { task } = await asked(ask);

    expect(task.status.message!.parts[1]).toMatchObject({
      data: { schema: { type: "object", required: ["amount"] } },
    });
  });

  test.each<[string, (amount: number, id: string) => string | readonly A2APart[]]>([
    ["a data part by its id", (amount, requestId) => [data({ requestId, value: { amount } })]],
    ["a data part of its own", (amount) => [data({ amount })]],
    ["JSON as text", (amount) => JSON.stringify({ amount })],
  ])(
    "rejects %s that does not match, names the field, and stays pending",
    async (_name, answer) => {
      const { client, taskId, requestId } = await asked(ask);

      const { error } = await client.trySend(answer(0, requestId), { taskId });

      expect(error?.code).toBe(-32602);
      expect(error?.message).toMatch(/message\.parts.* does not fit .*amount: /);
      expect(textOf(await client.send(answer(2, requestId), { taskId }))).toBe("2.00 -");
    },
  );

  test("accepts a value of any type, and a JSON Schema too", async () => {
    const { client, taskId, requestId } = await asked(async (turn) => {
      const value: unknown = await turn.ask("How many?", { schema: { type: "integer" } });
      return JSON.stringify(value);
    });

    expect((await client.trySend("many", { taskId })).error?.message).toContain("value: ");
    expect(textOf(await client.send([data({ requestId, value: 7 })], { taskId }))).toBe("7");
  });

  test("asks again for what only the schema library can reject", async () => {
    const even = z.number().refine((n) => n % 2 === 0, "must be even");
    const { client, taskId } = await asked(async (turn) =>
      String(await turn.ask("An even number?", { schema: even })),
    );

    const again = await client.send("3", { taskId });

    expect(again.status.state).toBe("input-required");
    expect(textOfParts(again.status.message!.parts)).toBe(
      "That does not fit: must be even.\nAn even number?",
    );
    expect(textOf(await client.send("4", { taskId }))).toBe("4");
  });
});

describe("a sensitive answer to a function", () => {
  const CANARY = "canary-hunter2-canary";

  verifies(
    "R60",
    "reaches the function, but no file, stream, push, history, log or error",
    async () => {
      const folder = temporaryFolder();
      const webhook = await Webhook.start();
      let password: string | undefined;
      const { agent, client, taskId, requestId, task } = await asked(
        async ({ ask }) => {
          password = await ask("Password?", { sensitive: true });
          return "In.";
        },
        { openBackend: () => openSqliteBackend({ folder }), push: { allow: ["127.0.0.1"] } },
      );
      expect(openRequestsOf(task)).toMatchObject([{ sensitive: true }]);
      const pushNotificationConfig = { url: webhook.url };
      await client.rpc("tasks/pushNotificationConfig/set", { taskId, pushNotificationConfig });

      const wrong = data({ requestId: "nothing", value: CANARY });
      const { error } = await client.trySend([wrong], { taskId });
      const right = data({ requestId, value: CANARY });
      const copy = { kind: "text", text: `it is ${CANARY}` } as const;
      await client.stream([copy, right], { taskId, metadata: { copy: CANARY } });

      expect(error?.code).toBe(-32602);
      expect(password).toBe(CANARY);
      await expect.poll(() => JSON.stringify(webhook.arrivals)).toContain("completed");
      const done = await client.get(taskId);
      await agent.close();
      const files = readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1"));
      const stored = JSON.stringify([files, done, webhook.arrivals, agent.log, client.heard]);
      expect(stored).not.toContain("hunter2");
    },
  );

  test("is asked for again after a restart, and later answers are not", async () => {
    const secrets: string[] = [];
    const world = new World(async ({ ask, step }) => {
      secrets.push(await ask("Password?", { sensitive: true }));
      await step("log in", () => "in");
      const name = await ask("Name?");
      const town = await ask("Town?");
      return `${name} of ${town}`;
    });
    const { live } = await tell(world.engine, "go");
    const taskId = live.task.id;
    const question = async (): Promise<string> => {
      const { message } = (await world.settled(taskId)).status;
      return textOfParts(message?.parts ?? []);
    };
    for (const [text, answer] of [
      ["Password?", "first"],
      ["Name?", "Ann"],
    ] as const) {
      await expect.poll(question).toBe(text);
      await tell(world.engine, answer, { taskId });
    }
    await expect.poll(question).toBe("Town?");

    await world.restart();
    await tell(world.engine, "Rome", { taskId });
    await expect.poll(question).toBe("Password?");
    await tell(world.engine, "second", { taskId });

    await expect.poll(async () => textOf(await world.task(taskId))).toBe("Ann of Rome");
    expect(secrets).toEqual(["first", "second"]);
    expect(JSON.stringify(await world.events(taskId))).not.toMatch(/first|second/);
  });
});

describe("a question with a time limit", () => {
  verifies("R61", "that expires fails the task with details, unless caught", async () => {
    const world = new World(async ({ ask }) => ask("Who?", { timeoutMs: 40 }));
    const { live } = await tell(world.engine, "go");
    const taskId = live.task.id;

    await expect.poll(async () => (await world.task(taskId)).status.state).toBe("failed");

    expect((await world.events(taskId)).at(-1)).toMatchObject({
      status: { message: { parts: [{ text: "Input timeout" }] } },
      metadata: { reason: "input-timeout", taskId, timeoutSeconds: 0.04 },
    });
  });

  verifies("R61", "can be skipped, also after a restart", async () => {
    const world = new World(async ({ ask }) =>
      ask("Who?", ["Ann", "Lee"], { timeoutMs: 60 }).catch((error: unknown) =>
        error instanceof NoAnswerError ? "nobody" : "an error",
      ),
    );
    const { live } = await tell(world.engine, "go");
    await world.hasEvent(live.task.id, "internal:ask");

    await world.restart();

    await expect.poll(async () => textOf(await world.task(live.task.id))).toBe("nobody");
  });
});
