import { openSqliteBackend } from "@convoke/backends/sqlite";
import { createJsonLogger } from "@convoke/engine";
import { type Message, type Task, authRequired, defineAgent, tool } from "convoke";
import { openRequestsOf } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Client, servedAgent, servedFunction } from "../approvals/a-served-agent.ts";
import { calls } from "../loop/scripts.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";

const TOKEN = "canary-calendar-token";

/** A service that answers callers with the right token, and knows who has asked. */
async function aCalendar() {
  const tokens: unknown[] = [];
  const server = createServer(({ headers }, response) => {
    tokens.push(headers.authorization);
    response.writeHead(headers.authorization === `Bearer ${TOKEN}` ? 200 : 403).end("lunch at 12");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const read = async (token: string): Promise<string> => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`http://127.0.0.1:${port}`, { headers });
    // Careless on purpose: errors often repeat the request.
    if (!answer.ok) throw new Error(`${answer.status} for ${JSON.stringify(headers)}`);
    return answer.text();
  };
  return { tokens, read };
}

type Calendar = Awaited<ReturnType<typeof aCalendar>>;

/** A tool that asks for the token once, and again if it is not valid. */
function aCalendarTool({ read }: Calendar) {
  return tool({
    name: "calendar",
    description: "Reads the calendar of the user.",
    idempotent: true,
    run: async (_, { credentials }) => {
      const token = credentials.get("calendar");
      if (token === undefined || token.startsWith("old")) {
        return authRequired("May I read your calendar?", { credential: "calendar" });
      }
      return read(token);
    },
  });
}

/** Everything that is in the files of a folder, also while a database is open. */
function filesIn(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1"))
    .join("\n");
}

/** A data folder and a log, as a server in production has them. */
function aPlace() {
  const folder = temporaryFolder();
  const log: string[] = [];
  const logger = createJsonLogger("debug", (line) => log.push(line));
  return { folder, log, options: { logger, openBackend: () => openSqliteBackend({ folder }) } };
}

function expectNoTrace({ folder, log }: ReturnType<typeof aPlace>, client: Client): void {
  // Only a part of it, because the database shares prefixes of texts.
  const secret = "calendar-token";
  expect(filesIn(folder)).toContain("May I read your calendar?");
  expect(filesIn(folder)).not.toContain(secret);
  expect(log.join("")).not.toContain(secret);
  expect(client.heard.join("\n")).not.toContain(secret);
}

const question = ({ status }: Task): Message => status.message!;

describe("a tool that needs the caller's token at a third party", () => {
  verifies(
    ["v1-S60", "v1-S63"],
    "gets it for this task only, and it is in no file, log, history, stream or error",
    async () => {
      const place = aPlace();
      const calendar = await aCalendar();
      const model = scriptedModel([
        [calls("calendar"), calls("calendar")],
        calls("calendar"),
        "Lunch.",
        calls("calendar"),
      ]);
      const agent = await servedAgent({ model, tools: [aCalendarTool(calendar)] }, place.options);
      const client = new Client(agent);
      const asked = await client.send("What is today?");
      const [request] = openRequestsOf(asked);

      // A token that is out of date, in text and with metadata; then a good one, as data.
      const again = await client.send("old calendar-token", {
        taskId: asked.id,
        metadata: { copy: TOKEN },
      });
      const { requestId } = openRequestsOf(again)[0]!;
      const answer = { kind: "data", data: { requestId, value: TOKEN } } as const;
      await client.stream([answer], { taskId: asked.id });
      const done = await client.get(asked.id);
      const next = await client.send("And tomorrow?");

      expect(asked.status.state).toBe("auth-required");
      expect(request).toMatchObject({ kind: "auth", credential: "calendar", sensitive: true });
      expect(JSON.stringify(question(asked).parts)).toContain('"auth-request"');
      expect(done.status.state).toBe("completed");
      // Both calls of the first answer, and one of the next, with one question.
      expect(calendar.tokens).toEqual(Array.from({ length: 3 }, () => `Bearer ${TOKEN}`));
      expect(next.status.state).toBe("auth-required");
      expect(JSON.stringify(model.requests)).not.toContain("calendar-token");
      expectNoTrace(place, client);
    },
  );

  test("is asked for again after a restart of the server", async () => {
    const place = aPlace();
    const calendar = await aCalendar();
    const ask = tool({
      name: "ask",
      description: "Asks.",
      run: (_, { answers }) =>
        answers.get("auth")?.text ?? authRequired("Sign in elsewhere, then say so."),
    });
    const script = [calls("calendar"), calls("ask"), calls("calendar"), "Lunch."];
    const model = scriptedModel(script);
    const definition = { model, tools: [aCalendarTool(calendar), ask] };
    const first = await servedAgent(definition, place.options);
    const { id: taskId } = await new Client(first).send("What is today?");
    const waiting = await new Client(first).send(TOKEN, { taskId });
    await first.close();

    const second = await servedAgent(definition, place.options);
    const client = new Client(second);
    const again = await client.send("done", { taskId });
    const done = await client.send(TOKEN, { taskId });

    expect(question(waiting).parts[0]).toMatchObject({ text: "Sign in elsewhere, then say so." });
    expect(openRequestsOf(again)).toMatchObject([{ credential: "calendar" }]);
    expect(done.status.state).toBe("completed");
    expect(calendar.tokens).toHaveLength(2);
    expectNoTrace(place, client);
  });
});

test("a sub-agent gets its own credential through the agent above, and not that agent's", async () => {
  const place = aPlace();
  const calendar = await aCalendar();
  const worker = defineAgent({
    name: "Worker",
    description: "Reads calendars.",
    model: scriptedModel([calls("calendar"), "Lunch."]),
    tools: [aCalendarTool(calendar)],
  });
  const model = scriptedModel([calls("calendar"), calls("worker", { message: "go" }), "Lunch."]);
  const tools = [aCalendarTool(calendar)];
  const agent = await servedAgent({ model, tools, subAgents: { worker } }, place.options);
  const client = new Client(agent);
  const { id: taskId } = await client.send("What is today?");

  const asked = await client.send(TOKEN, { taskId });
  const done = await client.send(TOKEN, { taskId });

  expect(openRequestsOf(asked)).toMatchObject([{ kind: "auth", credential: "worker/calendar" }]);
  expect(done.status.state).toBe("completed");
  expect(calendar.tokens).toHaveLength(2);
  expectNoTrace(place, client);
});

describe("a function agent that needs the caller's token at a third party", () => {
  test("gets it as text or as data, and it is in no file, log, history, stream or error", async () => {
    const place = aPlace();
    const calendar = await aCalendar();
    const agent = await servedFunction(async ({ authRequired: needs }) => {
      const prompt = "May I read your calendar?";
      const old = await needs(prompt, { credential: "calendar" });
      const token = await needs(`${prompt} ${old.length} is old.`, { credential: "calendar" });
      await calendar.read(token);
      return calendar.read(old);
    }, place.options);
    const client = new Client(agent);
    const asked = await client.send("What is today?");
    const taskId = asked.id;

    const empty = await client.send(" ", { taskId });
    const again = await client.send(` old-calendar-token\n`, { taskId });
    const { requestId } = openRequestsOf(again)[0]!;
    const answer = { kind: "data", data: { requestId, value: TOKEN } } as const;
    const failed = await client.send([answer], { taskId, metadata: { copy: TOKEN } });

    expect(openRequestsOf(asked)).toMatchObject([{ kind: "auth", credential: "calendar" }]);
    expect(JSON.stringify(question(empty).parts[0])).toContain("No credential was sent.");
    expect(calendar.tokens).toEqual([`Bearer ${TOKEN}`, "Bearer old-calendar-token"]);
    // The error of the service repeats the token; the operator sees the rest of it.
    expect(failed.status.state).toBe("failed");
    expect(place.log.join("")).toContain('403 for {\\"authorization\\":\\"Bearer [hidden]');
    expectNoTrace(place, client);
  });
});
