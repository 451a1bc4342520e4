import { MemoryCatalogStore } from "@convoke/host";
import { type ServeAgentOptions, connect } from "convoke";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CatalogServer, withCallers } from "./a-catalog-server.ts";

const POEM = { id: "bard", description: "Sings.", model: "demo" };

const LINES = new URL("../processes/programs/lines.mjs", import.meta.url).pathname;

const PROGRAM = {
  command: process.execPath,
  args: [LINES],
  protocol: "json-lines",
  workspace: "/tmp",
};

async function started(...options: Parameters<typeof CatalogServer.start>): Promise<CatalogServer> {
  const host = await CatalogServer.start(...options);
  onTestFinished(() => host.server.close());
  return host;
}

describe("the agents of a running server", () => {
  let host: CatalogServer;
  beforeAll(async () => {
    host = await CatalogServer.start();
  });
  afterAll(() => host.server.close());

  test("are listed with where they come from", async () => {
    const { status, body } = await host.ask("GET");

    expect(status).toBe(200);
    const state = { isEnabled: true, running: 0, isChanged: false, source: "config" };
    expect(body["agents"]).toEqual([
      { id: "root", name: "Root", description: "First.", kind: "code", isDefault: true, ...state },
      {
        id: "poet",
        name: "poet",
        description: "Writes.",
        kind: "model",
        isDefault: false,
        ...state,
      },
    ]);
  });

  test("can be added, edited, replaced, disabled, enabled and removed, on record", async () => {
    const added = await host.ask("POST", "", POEM);
    expect(added).toMatchObject({
      status: 200,
      body: { id: "bard", kind: "model", source: "api" },
    });
    const bard = await connect(`${host.server.url}agents/bard`, { cache: false });
    expect((await bard.send("hello")).task?.status.state).toBe("completed");

    await host.ask("PATCH", "/bard", { name: "The bard", persona: { archetype: "singer" } });
    expect((await host.card("bard")).body).toMatchObject({
      name: "The bard",
      description: "Sings. | Archetype: singer",
    });
    await host.ask("PUT", "/bard", { description: "Rhymes.", model: ["demo"] });
    expect((await host.card("bard")).body).toMatchObject({ name: "bard", description: "Rhymes." });

    expect((await host.ask("POST", "/bard:disable")).body).toMatchObject({ isEnabled: false });
    expect((await host.card("bard")).status).toBe(503);
    await host.ask("POST", "/bard:enable");
    expect((await host.card("bard")).status).toBe(200);

    expect(await host.ask("DELETE", "/bard")).toEqual({ status: 200, body: { removed: "bard" } });
    expect((await host.card("bard")).status).toBe(404);
    const events = host.log.filter((line) => line.includes('"agentId":"bard"'));
    expect(events.flatMap((line) => /"event":"([^"]+)"/.exec(line)?.[1] ?? [])).toEqual([
      "agent.added",
      "agent.edited",
      "agent.edited",
      "agent.disabled",
      "agent.enabled",
      "agent.removed",
    ]);
  });

  test("of the configuration are as it says again when their changes are removed", async () => {
    await host.ask("PATCH", "/poet", { description: "Sings.", instructions: null });
    await host.ask("POST", "/poet:disable");
    const { body } = await host.ask("GET");
    expect(body["agents"]).toContainEqual(
      expect.objectContaining({
        id: "poet",
        description: "Sings.",
        isChanged: true,
        isEnabled: false,
      }),
    );

    await host.ask("DELETE", "/poet");
    expect(await host.card("poet")).toMatchObject({
      status: 200,
      body: { description: "Writes." },
    });
  });

  test.each([
    ["POST", "", { ...POEM, id: undefined }, 400, "id must be the id of the new agent"],
    ["POST", "", { ...POEM, id: "Bard" }, 400, "the id of an agent must be 1 to 64 lower case"],
    ["POST", "", { ...POEM, id: "poet" }, 409, 'there is an agent "poet" already'],
    ["POST", "", { id: "bard", model: "demo" }, 400, "agents.bard: description is required"],
    ["POST", "", { ...POEM, modle: "demo" }, 400, "modle cannot be defined through the API. Did"],
    ["POST", "", { ...POEM, modelOptions: {} }, 400, "modelOptions cannot be defined through the"],
    ["POST", "", { ...POEM, model: "http://10.0.0.1/v1#m" }, 400, "model must be a name such as"],
    ["POST", "", { ...POEM, model: "openai:x" }, 400, "openai:x needs a key; set OPENAI_API_KEY"],
    ["POST", "", { ...POEM, temperature: "hot" }, 200, ""],
    ["POST", "", { id: "bard", ...PROGRAM }, 403, "command needs allowProcesses: true in the"],
    ["POST", "", { id: "bard", workspace: "." }, 403, "workspace needs allowProcesses: true"],
    [
      "POST",
      "",
      { ...POEM, mcpServers: { files: { command: "x" } } },
      403,
      "mcpServers.files.command needs allowProcesses: true",
    ],
    [
      "POST",
      "",
      { ...POEM, subAgents: { other: { url: "https://a.example", allow: ["10.0.0.1"] } } },
      400,
      "subAgents.other.allow is not one of url, description",
    ],
    ["POST", "", { id: "bard", module: "./x.ts" }, 403, "module needs allowModules: true"],
    ["PATCH", "/poet", { command: "rm" }, 403, "command needs allowProcesses: true"],
    ["PATCH", "/root", { name: "Other" }, 409, "is defined by code, which cannot be changed here"],
    ["PUT", "/root", POEM, 409, "is defined by code, which cannot be changed here"],
    ["PATCH", "/nobody", {}, 404, 'there is no agent "nobody" here'],
    ["POST", "/nobody:disable", {}, 404, 'there is no agent "nobody" here'],
    ["DELETE", "/root", undefined, 409, "remove it from the configuration, or disable it"],
  ])("reject %s %s %j with %i", async (method, path, body, status, problem) => {
    const before = await host.ask("GET");
    const answer = await host.ask(method, path, body);

    expect(JSON.stringify(answer.body)).toContain(problem.replaceAll('"', String.raw`\"`));
    expect(answer.status).toBe(status);
    if (status === 200) await host.ask("DELETE", "/bard");
    expect(await host.ask("GET")).toEqual(before);
  });
});

test("only operators of the whole server may see and change its agents", async () => {
  const host = await started({}, { ...withCallers, tenants: ["acme"] });

  expect((await host.ask("GET")).status).toBe(401);
  for (const token of ["ann", "operator@acme"]) {
    expect((await host.ask("GET", "", undefined, token)).status).toBe(403);
    expect((await host.ask("POST", "", POEM, token)).status).toBe(403);
  }
  expect((await host.ask("POST", "", POEM, "operator")).status).toBe(200);
  expect(host.log.join("\n")).toContain('"owner":"ops","agentId":"bard"');
});

test("a policy of the server decides about changes, too", async () => {
  const authorize: ServeAgentOptions["authorize"] = (_, { operation }) => operation !== "addAgent";
  const host = await started({}, { authorize });

  expect((await host.ask("POST", "", POEM)).status).toBe(403);
  expect((await host.ask("POST", "/poet:disable")).status).toBe(200);
});

test("the API is 404 if it is switched off, and needs authentication outside of loopback", async () => {
  const host = await started({}, { agentApi: false });

  expect((await host.ask("GET")).status).toBe(404);
  const open = { host: "0.0.0.0", allowAnonymous: true, agentApi: true };
  await expect(started({}, open)).rejects.toThrow("agentApi lets callers change the agents");
});

test("a program can be added if the server allows it", async () => {
  const host = await started({ allowProcesses: true });

  expect((await host.ask("POST", "", { id: "echo", ...PROGRAM })).body).toMatchObject({
    kind: "process",
    description: `The program node.`,
  });
  const echo = await connect(`${host.server.url}agents/echo`);
  expect((await echo.send("hello")).text).toContain('"text":"hello"');
});

test("an MCP server at a private address is out of reach for an agent that an operator adds", async () => {
  const host = await started();
  const files = { url: "http://127.0.0.1:9/mcp" };

  await host.ask("POST", "", { ...POEM, mcpServers: { files } });

  const metrics = async (): Promise<string> => (await fetch(`${host.server.url}metrics`)).text();
  await expect.poll(metrics, { timeout: 20_000 }).toMatch(/^convoke_egress_refused.* [1-9]/m);
});

test("changes are there after a restart, and take precedence over the configuration", async () => {
  const store = new MemoryCatalogStore();
  const first = await CatalogServer.start({ store });
  await first.ask("POST", "", POEM);
  await first.ask("PATCH", "/poet", { description: "Sings." });
  await first.ask("POST", "/root:disable");
  await first.server.close();

  const second = await started({ store });
  const { body } = await second.ask("GET");
  expect(body["agents"]).toMatchObject([
    { id: "root", isEnabled: false, isDefault: true },
    { id: "poet", description: "Sings.", isChanged: true },
    { id: "bard", source: "api" },
  ]);
});

test("a stored program is not started by a server that does not allow it any more", async () => {
  const store = new MemoryCatalogStore();
  await store.update(() => ({
    echo: { definition: PROGRAM },
    poet: { changes: { model: "nothing:x" } },
  }));

  const host = await started({ store });

  const { body } = await host.ask("GET");
  expect(body["agents"]).toMatchObject([
    { id: "root" },
    {
      id: "poet",
      isEnabled: true,
      problem: expect.stringContaining("no known provider") as string,
    },
    { id: "echo", isEnabled: false, problem: expect.stringContaining("allowProcesses") as string },
  ]);
  expect(host.log.join("\n")).toContain("a change to an agent cannot be used");
  expect((await host.card("echo")).status).toBe(404);
  expect(await host.ask("DELETE", "/echo")).toMatchObject({ status: 200 });
});

test("a change is rejected with 409 if another server has changed the agent meanwhile", async () => {
  const store = new MemoryCatalogStore();
  const host = await started({ store });
  await store.update(() => ({ poet: { isDisabled: true } }));

  const changed = await host.ask("PATCH", "/poet", { description: "Sings." });

  expect(changed.status).toBe(409);
  expect(await store.read()).toEqual({ poet: { isDisabled: true } });
  expect((await host.card("poet")).body).toMatchObject({ description: "Writes." });
});

test("a change that cannot be stored is not made", async () => {
  const store = new MemoryCatalogStore();
  const host = await started({
    store: {
      read: () => store.read(),
      update: () => Promise.reject(new Error("the disk is full")),
    },
  });

  expect((await host.ask("POST", "", POEM)).status).toBe(500);
  expect((await host.card("bard")).status).toBe(404);
  expect(host.log.join("\n")).toContain("a request failed");
});
