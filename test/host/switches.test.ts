import { createJsonLogger } from "@convoke/engine";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Agent,
  type AgentServer,
  type Caller,
  type ServeAgentOptions,
  bearer,
  connect,
  defineAgent,
  serve,
} from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { aMessage, aRequest } from "../conformance/requests.ts";
import { jsonRpcSpeaker } from "../conformance/speakers.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { aTalker } from "./three-agents.ts";

/** Servers of the agents "ann" and "bob", without authentication unless `options` say otherwise. */
async function aServer(
  options: Partial<ServeAgentOptions> = {},
  agents: Agent | readonly Agent[] = [aTalker("Ann"), aTalker("Bob")],
) {
  const log: string[] = [];
  const logger = createJsonLogger("info", (line) => log.push(line));
  const server = await serve(agents, { port: 0, data: "memory", logger, ...options });
  onTestFinished(() => server.close());
  return { server, log };
}

async function ask({ url }: AgentServer, path: string, { method = "POST", token = "" } = {}) {
  const headers = token === "" ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}convoke/agents${path}`, { method, headers });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const cardStatus = async ({ url }: AgentServer, id: string): Promise<number> =>
  (await fetch(`${url}agents/${id}/.well-known/agent-card.json`)).status;

describe("an operator", () => {
  test("lists the agents, and disables and enables them, on record", async () => {
    const { server, log } = await aServer();

    const { body } = await ask(server, "", { method: "GET" });
    const bob = { id: "bob", name: "Bob", description: "Speaks as Bob.", running: 0 };
    expect(body["agents"]).toMatchObject([
      { id: "ann", isEnabled: true, isDefault: true },
      { ...bob, isEnabled: true, isDefault: false },
    ]);

    const off = await ask(server, "/bob:disable");
    expect(off).toMatchObject({ status: 200, body: { ...bob, isEnabled: false } });
    expect(await cardStatus(server, "bob")).toBe(503);
    expect([...server.agents]).toMatchObject([{ isEnabled: true }, { isEnabled: false }]);
    await ask(server, "/bob:enable");
    expect(await cardStatus(server, "bob")).toBe(200);
    const events = log
      .filter((line) => line.includes("audit: agent."))
      .map((line) => JSON.parse(line) as unknown);
    expect(events).toMatchObject([
      { event: "agent.disabled", agentId: "bob", owner: "anonymous" },
      { event: "agent.enabled", agentId: "bob", owner: "anonymous" },
    ]);
  });

  test("gets an error that names the agents if there is none with the id", async () => {
    const { server } = await aServer();

    const { status, body } = await ask(server, "/nobody:disable");

    expect(status).toBe(404);
    expect(JSON.stringify(body)).toContain("here; there are ann, bob");
    expect((await ask(server, "/bob", { method: "PATCH" })).status).toBe(404);
    expect((await ask(server, "")).status).toBe(405);
  });

  test("disables the only agent of a server as well", async () => {
    const { server } = await aServer({}, aTalker("Ann"));

    expect((await ask(server, "/ann:disable")).status).toBe(200);

    expect((await fetch(`${server.url}.well-known/agent-card.json`)).status).toBe(503);
  });

  test("finds no such path if the API is switched off", async () => {
    const { server } = await aServer({ agentApi: false });

    expect((await ask(server, "", { method: "GET" })).status).toBe(404);
    expect((await ask(server, "/bob:disable")).status).toBe(404);
  });
});

/** Callers of every kind, and whether they operate the server. */
const CALLERS: Readonly<Record<string, readonly [unknown, status: number]>> = {
  "without scopes": [{ owner: "ann" }, 403],
  "with an empty list of scopes": [{ owner: "ann", scopes: [] }, 403],
  "with another scope": [{ owner: "ann", scopes: ["read"] }, 403],
  "with a scope that contains the name of the right one": [
    { owner: "ann", scopes: ["xconvoke:operates"] },
    403,
  ],
  "whose scopes are a text": [{ owner: "ann", scopes: "convoke:operate" }, 500],
  "with the scope of operators": [{ owner: "ann", scopes: ["convoke:operate"] }, 200],
  "with the scope of operators in a tenant": [
    { owner: "ann", tenant: "acme", scopes: ["convoke:operate"] },
    403,
  ],
};

test.each(Object.entries(CALLERS))("a caller %s gets what its scopes give", async (_, given) => {
  const [caller, expected] = given;
  const { server, log } = await aServer({
    authenticate: () => caller as Caller,
    tenants: ["acme"],
  });

  const answers = [
    await ask(server, "", { method: "GET" }),
    await ask(server, "/bob:disable"),
    await ask(server, "/bob:enable"),
  ];

  expect(answers.map(({ status }) => status)).toEqual([expected, expected, expected]);
  expect(log.some((line) => line.includes("scopes are a list of texts"))).toBe(expected === 500);
});

test("the one token of a server operates it; a token of a named owner needs the scope", async () => {
  const one = await aServer({ token: "secret" });
  const named = await aServer({
    auth: [bearer("ann", { owner: "ann" }), bearer("ops", { scopes: ["convoke:operate"] })],
  });

  expect((await ask(one.server, "/bob:disable")).status).toBe(401);
  expect((await ask(one.server, "/bob:disable", { token: "secret" })).status).toBe(200);
  expect((await ask(named.server, "/bob:disable", { token: "ann" })).status).toBe(403);
  expect((await ask(named.server, "/bob:disable", { token: "ops" })).status).toBe(200);
});

test("a policy of the server decides as well", async () => {
  const { server } = await aServer({
    authorize: (_, { operation }) => operation !== "disableAgent",
  });

  expect((await ask(server, "/bob:disable")).status).toBe(403);
  expect((await ask(server, "/bob:enable")).status).toBe(200);
});

test("a server elsewhere that accepts every caller cannot let them disable agents", async () => {
  const open = { host: "0.0.0.0", allowAnonymous: true };

  await expect(aServer({ ...open, agentApi: true })).rejects.toThrow(
    "agentApi lets callers disable the agents",
  );
  const { server } = await aServer(open);
  const local = { ...server, url: `http://127.0.0.1:${server.port}/` };
  expect((await ask(local, "/bob:disable")).status).toBe(404);
});

test("a disabled agent accepts no new tasks, and its tasks go on", async () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const worker = defineAgent({
    name: "Worker",
    description: "Works.",
    async *run({ text, ask: question, step }) {
      yield "begun, ";
      if (text === "ask") yield `heard ${await question("Go on?")}, `;
      if (text === "wait") await step("wait", () => opened, { idempotent: true });
      yield "done";
    },
  });
  const { server } = await aServer({}, [aTalker("Ann"), worker]);
  const speaker = jsonRpcSpeaker({ url: `${server.url}agents/worker/` }, "1.0");
  const running = await speaker.sendTask(aRequest("wait", { blocking: false }));
  const asking = await speaker.sendTask(aRequest("ask"));
  const artifacts = async (taskId: string): Promise<string> =>
    JSON.stringify((await speaker.get({ taskId })).artifacts);

  await ask(server, "/worker:disable");

  await expect(speaker.sendTask(aRequest("go"))).rejects.toThrow(
    "is disabled and accepts no new tasks; try again",
  );
  const directory = await fetch(`${server.url}.well-known/agents.json`);
  expect(await directory.text()).not.toContain("worker");
  await speaker.sendTask(aRequest(aMessage("yes", { taskId: asking.id })));
  expect(await artifacts(asking.id)).toContain("heard yes");
  open();
  await expect.poll(() => artifacts(running.id)).toContain("done");

  await ask(server, "/worker:enable");
  const remote = await connect(`${server.url}agents/worker`, { cache: false });
  expect((await remote.send("go")).task?.status.state).toBe("completed");
});

test("what was disabled last is disabled after a restart, whatever the server had been told at once", async () => {
  const data = join(temporaryFolder(), "data");
  const first = await aServer({ data });
  await Promise.all(["/bob:disable", "/ann:disable"].map((path) => ask(first.server, path)));
  await ask(first.server, "/ann:enable");
  await first.server.close();

  const second = await aServer({ data });

  expect([...second.server.agents]).toMatchObject([
    { id: "ann", isEnabled: true },
    { id: "bob", isEnabled: false },
  ]);
  expect(JSON.parse(readFileSync(join(data, "agents.json"), "utf8"))).toEqual({
    version: 1,
    agents: { bob: { isDisabled: true } },
  });
});

test.each([
  ["{", "is not JSON; restore it from a backup"],
  [`{"version":2,"agents":{}}`, "has the version 2, and this program knows 1"],
  [`{"version":1,"agents":[]}`, "must have an object of agents"],
])("a server whose file of agents is %s does not start", async (content, problem) => {
  const data = temporaryFolder();
  writeFileSync(join(data, "agents.json"), content);

  await expect(aServer({ data })).rejects.toThrow(problem);
});
