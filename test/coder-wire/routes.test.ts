import { CoderAgentEvent } from "convoke/coder";
import { A2AError, type AgentCommand, type Task } from "@convoke/protocol";
import { scriptedModel } from "@convoke/runtime/testing";
import { defineAgent } from "convoke";
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { calls } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import { coderClient, dataIn, kindOf, saying, taskIdIn } from "./a-coder-client.ts";
import { Workspace, codingAgent } from "./a-coding-agent.ts";

const TOOLS = ["write_file", "run_command", "ask_user", "fail"];

describe("POST /tasks", () => {
  verifies(
    ["R31", "R68"],
    "creates a task with its settings, and answers 201 with its id",
    async () => {
      const client = await coderClient(codingAgent(scriptedModel(["Hi."])));
      const agentSettings = { workspacePath: "/project", autoExecute: true };

      const created = await client.post("/tasks", { contextId: "talk", agentSettings });

      expect(created.status).toBe(201);
      const id = created.json as string;
      const { result } = await client.rpc("tasks/get", { id });
      expect(result).toMatchObject({
        id,
        contextId: "talk",
        status: { state: "submitted" },
        metadata: { coderAgent: { kind: "agent-settings", ...agentSettings } },
      });
      const frames = await client.frames("/message/stream", { taskId: id, userMessage: "hi" });
      expect(taskIdIn(frames)).toBe(id);
      expect(frames.at(-1)?.event).toMatchObject({ status: { state: "completed" } });
    },
  );

  test("needs no body, and rejects fields of the wrong type by name", async () => {
    const client = await coderClient(codingAgent(scriptedModel([])));

    expect((await client.post("/tasks")).status).toBe(201);
    for (const body of [{ contextId: 1 }, { contextId: "" }, { agentSettings: "all" }]) {
      const { status, json } = await client.post("/tasks", body);
      expect(status).toBe(400);
      expect((json as { error: string }).error).toContain(Object.keys(body)[0]);
    }
  });

  test("takes a JSON object only", async () => {
    const client = await coderClient(codingAgent(scriptedModel([])));
    const post = async (type: string, body: string): Promise<number> => {
      const headers = { "content-type": type };
      return (await fetch(`${client.url}/tasks`, { method: "POST", headers, body })).status;
    };

    expect(await post("text/plain", "{}")).toBe(415);
    expect(await post("application/json", "{")).toBe(400);
    expect(await post("application/json", "[]")).toBe(400);
  });

  test("leaves GET /tasks to A2A 1.0, which lists the task", async () => {
    const client = await coderClient(codingAgent(scriptedModel([])));
    const { json: id } = await client.post("/tasks", {});

    const { status, json } = await client.get("/tasks");

    expect(status).toBe(200);
    expect((json as { tasks: readonly Task[] }).tasks).toMatchObject([
      { id, status: { state: "TASK_STATE_SUBMITTED" } },
    ]);
  });
});

describe("POST /message/stream", () => {
  const message = { kind: "message", role: "user", messageId: "m1", ...saying("hi") };
  const bodies = {
    "a JSON-RPC request": {
      jsonrpc: "2.0",
      id: "r1",
      method: "message/stream",
      params: { message },
    },
    "the parameters of one": { message },
    "a text": { userMessage: "hi" },
    "a message": { userMessage: message, contextId: "talk" },
  };

  for (const [what, body] of Object.entries(bodies)) {
    verifies("R31", `takes ${what}, and answers with events`, async () => {
      const model = scriptedModel(["Hello."]);
      const client = await coderClient(codingAgent(model));

      const frames = await client.frames("/message/stream", body);

      const isRpc = "jsonrpc" in body;
      expect(new Set(frames.map(({ rpcId }) => rpcId))).toEqual(new Set([isRpc ? "r1" : null]));
      expect(frames.map(kindOf)).toContain(CoderAgentEvent.TextContentEvent);
      expect(dataIn(frames.at(-1)!)).toEqual({ kind: "state-change", state: "completed" });
      expect(model.requests[0]?.transcript[0]).toMatchObject({ parts: [{ text: "hi" }] });
    });
  }

  test("answers a bad request with an error in the format of its frames", async () => {
    const client = await coderClient(codingAgent(scriptedModel([])));
    const wrong = {
      "userMessage must be": {},
      "method must be message/stream": { jsonrpc: "2.0", id: 7, method: "tasks/get", params: {} },
      "there is no task": { taskId: "nobody", userMessage: "hi" },
    };

    for (const [problem, body] of Object.entries(wrong)) {
      const [frame] = await client.frames("/message/stream", body);
      expect(frame?.error?.message).toContain(problem);
      expect(frame?.rpcId).toBe("id" in body ? 7 : null);
    }
  });
});

describe("task metadata", () => {
  verifies(
    "R31",
    "says what works on a task in any state, at the top and under metadata",
    async () => {
      const workspace = new Workspace();
      const model = scriptedModel([
        calls("ask_user", { question: "Who?" }),
        { kind: "error", status: 401 },
        calls("run_command", { command: "sleep" }),
      ]);
      const agent = codingAgent(model, { workspace, mayAutoExecute: true });
      const client = await coderClient(agent);
      const { json: empty } = await client.post("/tasks", {});
      const asking = await client.send(saying("go"));
      const failed = await client.send(saying("fail"));
      const { json: running } = await client.post("/tasks", {
        agentSettings: { autoExecute: true },
      });
      const following = client.frames("/message/stream", { taskId: running, userMessage: "sleep" });
      await workspace.running.promise;
      const { json: canceled } = await client.post("/tasks", {});
      await client.rpc("tasks/cancel", { id: canceled });

      for (const [id, taskState] of [
        [empty, "submitted"],
        [asking.id, "input-required"],
        [canceled, "canceled"],
        [failed.id, "failed"],
        [running, "working"],
      ]) {
        const { status, json } = await client.get(`/tasks/${String(id)}/metadata`);
        const facts = json as { metadata: object; availableTools: { name: string }[] };
        expect(status).toBe(200);
        expect(facts).toMatchObject({ id, taskState, model: "scripted", mcpServers: [] });
        expect(facts.availableTools.map(({ name }) => name)).toEqual(TOOLS);
        expect(facts.availableTools[0]).toHaveProperty("parameterSchema");
        const { metadata, ...top } = facts;
        expect(metadata).toEqual(top);
      }
      expect(await client.get("/tasks/nobody/metadata")).toMatchObject({ status: 404 });
      expect(await client.get("/tasks/%E0%A4%A/metadata")).toMatchObject({ status: 400 });
      await client.rpc("tasks/cancel", { id: running });
      await following;
    },
  );

  verifies("R31", "of all tasks is a list, newest first, and 204 if there are none", async () => {
    const client = await coderClient(codingAgent(scriptedModel([])));
    expect(await client.get("/tasks/metadata")).toMatchObject({ status: 204, text: "" });
    const { json: first } = await client.post("/tasks", {});
    const { json: second } = await client.post("/tasks", {});

    const { json } = await client.get("/tasks/metadata");

    expect(json).toMatchObject([{ id: second }, { id: first, taskState: "submitted" }]);
    expect(JSON.stringify(json)).not.toContain("parameterSchema");
  });
});

describe("the routes of a coding agent", () => {
  test("show a caller nothing of other owners, and nobody without a token", async () => {
    const agent = codingAgent(scriptedModel([]));
    const client = await coderClient(agent, {
      authenticate: (request) => {
        const owner = request.headers["authorization"]?.[0];
        return owner === undefined ? undefined : { owner };
      },
    });
    const ann = client.with({ authorization: "ann" });
    const bob = client.with({ authorization: "bob" });
    const { json: id } = await ann.post("/tasks", {});

    expect((await bob.get(`/tasks/${String(id)}/metadata`)).status).toBe(404);
    expect((await bob.get("/tasks/metadata")).status).toBe(204);
    for (const path of ["/tasks", "/message/stream", "/executeCommand"]) {
      expect((await client.post(path, {})).status, path).toBe(401);
    }
    for (const path of ["/tasks/metadata", `/tasks/${String(id)}/metadata`, "/listCommands"]) {
      expect((await client.get(path)).status, path).toBe(401);
    }
  });

  test("are measured, and take no other method", async () => {
    const client = await coderClient(codingAgent(scriptedModel([])), { metrics: true });

    await client.post("/tasks", {});

    expect((await client.post("/listCommands", {})).headers.get("allow")).toBe("GET");
    const { text } = await client.get("/metrics");
    expect(text).toContain('binding="coder",operation="createTask",code="ok"');
  });

  test("do not exist on other agents", async () => {
    const plain = defineAgent({ name: "Echo", description: "Repeats.", run: ({ text }) => text });
    const client = await coderClient(plain);

    expect((await client.post("/tasks", {})).status).toBe(405);
    expect((await client.get("/listCommands")).status).toBe(404);
    expect(await client.rpc("commands/get", {})).toMatchObject({ error: { code: -32601 } });
  });

  test("come with a card that has the skill and the dialects", async () => {
    const client = await coderClient(codingAgent(scriptedModel([])));

    const { json } = await client
      .with({ "a2a-version": "0.3" })
      .get("/.well-known/agent-card.json");

    expect(json).toMatchObject({
      description: "Generates code based on instructions",
      url: client.url,
      capabilities: { streaming: true, stateTransitionHistory: true },
      skills: [
        {
          id: "code_generation",
          name: "Code Generation",
          tags: ["code", "development", "programming"],
        },
      ],
    });
    expect(JSON.stringify(json)).toContain("https://convoke.dev/extensions/coder/v1");
  });
});

describe("commands", () => {
  const memory: AgentCommand = {
    name: "memory",
    description: "The memory.",
    subCommands: [
      {
        name: "add",
        description: "Adds a fact.",
        arguments: [{ name: "fact", description: "What to keep.", isRequired: true }],
        run: ({ args, caller }) => ({ kind: "data", data: { args, owner: caller.owner } }),
      },
    ],
  };
  // A command that contains itself must not make the list endless.
  const cyclic = { ...memory, name: "cyclic", subCommands: [] as AgentCommand[] };
  cyclic.subCommands.push(cyclic);
  const commands: readonly AgentCommand[] = [
    memory,
    cyclic,
    {
      name: "init",
      description: "Starts.",
      run: () => ({ kind: "message", text: "Write AGENTS.md." }),
    },
    {
      name: "broken",
      description: "Fails.",
      run: () => {
        throw new Error("the password is hunter2");
      },
    },
    {
      name: "picky",
      description: "Needs a workspace.",
      run: () => {
        throw new A2AError("InvalidParams", "no workspace is open");
      },
    },
  ];

  const served = (script: readonly string[] = []) =>
    coderClient(codingAgent(scriptedModel(script), { commands: () => commands }));

  verifies("R77", "are listed with their arguments and nested commands", async () => {
    const client = await served();

    const { json } = await client.get("/listCommands");

    expect((json as { commands: unknown[] }).commands.slice(0, 2)).toEqual([
      {
        name: "memory",
        description: "The memory.",
        arguments: [],
        subCommands: [
          {
            name: "add",
            description: "Adds a fact.",
            arguments: [{ name: "fact", description: "What to keep.", isRequired: true }],
            subCommands: [],
          },
        ],
      },
      { name: "cyclic", description: "The memory.", arguments: [], subCommands: [] },
    ]);
    const { result } = await client.rpc<{ commands: unknown[] }>("commands/get", {});
    expect(result?.commands[0]).toMatchObject({
      name: "memory",
      sub_commands: [{ name: "add", arguments: [{ name: "fact", is_required: true }] }],
    });
  });

  verifies("R78", "run with their arguments, and their errors have the right status", async () => {
    const logger = memoryLogger();
    const agent = codingAgent(scriptedModel([]), { commands: () => commands });
    const client = await coderClient(agent, { logger });
    const run = (body: object) => client.post("/executeCommand", body);

    const added = await run({ command: "memory add", args: ["birds", "fly"] });

    expect(added).toMatchObject({
      status: 200,
      json: { name: "memory add", data: { args: ["birds", "fly"], owner: expect.any(String) } },
    });
    const wrong: readonly (readonly [object, number, string])[] = [
      [{}, 400, "command"],
      [{ command: "memory add", args: "birds" }, 400, "args"],
      [{ command: "memory add" }, 400, "fact"],
      [{ command: "memory" }, 400, "add"],
      [{ command: "picky" }, 400, "no workspace is open"],
      [{ command: "sing" }, 404, "sing"],
      [{ command: "broken" }, 500, ""],
    ];
    for (const [body, status, problem] of wrong) {
      const response = await run(body);
      expect(response.status, JSON.stringify(body)).toBe(status);
      const { error } = response.json as { error: string };
      expect(error).toContain(problem);
      expect(error).not.toContain("hunter2");
    }
    expect(logger.lines.join("\n")).toContain("a request failed");
  });

  verifies("R78", "that start a task stream it as events that every client can read", async () => {
    const client = await served(["Written."]);

    const frames = await client.frames("/executeCommand", { command: "init" });

    const id = taskIdIn(frames);
    expect(new Set(frames.map(({ rpcId }) => rpcId))).toEqual(new Set([id]));
    expect(dataIn(frames.at(-1)!)).toEqual({ kind: "state-change", state: "completed" });
    expect((await client.rpc("tasks/get", { id })).result?.history).toMatchObject([
      { parts: [{ text: "Write AGENTS.md." }] },
    ]);
  });

  test("run over JSON-RPC: with the id of the task, with data, or with the reason why not", async () => {
    const client = await served(["Written."]);
    const run = async (command_path: readonly string[], args = "") => {
      const { result } = await client.rpc<{ execution_id: string }>("command/execute", {
        command_path,
        args,
      });
      return result;
    };

    const started = await run(["init"]);

    expect(started).toEqual({
      execution_id: expect.stringMatching(/./),
      status: "STARTED",
      message: "",
    });
    await expect
      .poll(
        async () =>
          (await client.rpc("tasks/get", { id: started?.execution_id })).result?.status.state,
      )
      .toBe("completed");
    expect(await run(["memory", "add"], "birds fly")).toMatchObject({
      execution_id: "",
      status: "STARTED",
      message: expect.stringContaining('["birds","fly"]'),
    });
    expect(await run([randomUUID()])).toMatchObject({
      execution_id: "",
      status: "FAILED_TO_START",
    });
  });
});
