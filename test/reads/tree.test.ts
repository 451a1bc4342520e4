import { type Backend, createJsonLogger } from "@convoke/engine";
import { createMemoryBackend } from "@convoke/engine/memory";
import type { AgentEvent, Task } from "@convoke/protocol";
import type { ModelAgentDefinition } from "@convoke/runtime";
import { type Server, serve } from "@convoke/server";
import { type Agent, bearer, defineAgent } from "convoke";
import { afterAll, beforeAll, expect, test } from "vitest";
import { aGuardedTool } from "../approvals/a-guarded-tool.ts";
import { aMessage } from "../conformance/requests.ts";
import { keptPort } from "../harness/kept-port.ts";
import { calls } from "../loop/scripts.ts";
import { callsOnce } from "../sub-agents/a-hop.ts";

const TOKENS = {
  ann: { owner: "ann", scopes: [] },
  bob: { owner: "bob", scopes: [] },
  boss: { owner: "boss-agent", scopes: [] },
  operator: { owner: "ops", scopes: ["convoke:operate"] },
};

const backend: Backend = createMemoryBackend();
let server: Server;
let elsewhere: Server;
/** The task of the boss, which waits for an approval that its mate needs. */
let root: Task;

/** The boss calls a mate on the same server, a helper in the same process, and an agent elsewhere. */
beforeAll(async () => {
  const worker = defineAgent({ name: "Worker", description: "Works.", run: async () => "worked" });
  elsewhere = await start(worker, createMemoryBackend(), await keptPort());
  const port = await keptPort();
  const deep = defineAgent({ name: "Deep", description: "Is deep.", run: async () => "deep" });
  const helper = aCaller("Helper", { deep });
  const boss = aCaller("Boss", {
    mate: { url: `http://127.0.0.1:${port}/agents/mate`, token: "boss" },
    helper,
    worker: elsewhere.url,
  });
  const mate = defineAgent({
    name: "Mate",
    description: "Deletes.",
    model: callsOnce(calls("delete", { path: "a" })),
    tools: [aGuardedTool().guarded],
  });
  server = await start([boss, mate], backend, port);
  root = await send("ann", "go");
});

afterAll(async () => {
  await server.close();
  await elsewhere.close();
});

/** An agent that calls all of its sub-agents in parallel. */
function aCaller(name: string, subAgents: NonNullable<ModelAgentDefinition["subAgents"]>) {
  const model = callsOnce(
    ...Object.keys(subAgents).map((agent) => calls(agent, { message: "help" })),
  );
  return defineAgent({ name, description: `The ${name}.`, model, subAgents });
}

function start(agent: Agent | readonly Agent[], storage: Backend, port: number): Promise<Server> {
  return serve(agent, {
    port,
    host: "127.0.0.1",
    logger: createJsonLogger("silent", () => undefined),
    openBackend: async () => storage,
    ...(storage === backend && {
      auth: Object.entries(TOKENS).map(([token, caller]) => bearer(token, caller)),
    }),
  });
}

async function send(token: string, text: string): Promise<Task> {
  const params = { message: aMessage(text) };
  const answer = await fetch(server.url, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/send", params }),
  });
  return ((await answer.json()) as { readonly result: Task }).result;
}

interface Node {
  readonly taskId: string;
  readonly parentId?: string;
  readonly agent?: string;
  readonly state: string;
  readonly depth: number;
  readonly where: string;
  readonly address?: string;
  readonly problem?: string;
}

interface Tree {
  readonly status: number;
  readonly rootId: string;
  readonly nodes: readonly Node[];
  readonly truncated: boolean;
}

async function treeOf(taskId: string, token: string, query = ""): Promise<Tree> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${server.url}convoke/tasks/${taskId}/tree${query}`, { headers });
  return { status: answer.status, ...((await answer.json()) as Omit<Tree, "status">) };
}

test("an operator sees the tasks of all agents that work for a task, here and elsewhere", async () => {
  const { rootId, nodes, truncated } = await treeOf(root.id, "operator", "?owner=*");

  const boss = { agent: "Boss", agentId: "boss", state: "input-required", where: "here" };
  expect({ rootId, truncated }).toEqual({ rootId: root.id, truncated: false });
  expect(nodes.toSorted((a, b) => (a.agent! < b.agent! ? -1 : 1))).toMatchObject([
    { ...boss, depth: 0, question: expect.stringContaining("delete") },
    { agent: "Deep", calledAs: "deep", state: "completed", where: "here", depth: 2 },
    { agent: "Helper", state: "completed", where: "here", depth: 1, usage: { iterations: 2 } },
    { agent: "Mate", agentId: "mate", state: "input-required", where: "here", depth: 1 },
    { agent: "Worker", state: "completed", where: "remote", address: elsewhere.url, depth: 1 },
  ]);
  const helper = nodes.find(({ agent }) => agent === "Helper")!;
  expect(nodes.filter(({ depth }) => depth === 1).map(({ parentId }) => parentId)).toEqual(
    Array.from({ length: 3 }, () => root.id),
  );
  expect(nodes.find(({ depth }) => depth === 2)?.parentId).toBe(helper.taskId);
});

test("the tree of a called task begins at the task that called it", async () => {
  const { nodes } = await treeOf(root.id, "operator", "?owner=*");
  const mate = nodes.find(({ agent }) => agent === "Mate")!;

  const { rootId } = await treeOf(mate.taskId, "operator", "?owner=*");
  const unseen = await treeOf(root.id, "bob");

  expect(rootId).toBe(root.id);
  expect(unseen.status).toBe(404);
});

test("a caller sees of tasks that are not its own what its task has noted, and no address", async () => {
  const { nodes } = await treeOf(root.id, "ann");

  expect(nodes.find(({ agent }) => agent === "Boss")).toMatchObject({ where: "here" });
  for (const name of ["mate", "worker"]) {
    const node = nodes.find((one) => "calledAs" in one && one.calledAs === name)!;
    expect(node).toMatchObject({ where: "remote", depth: 1 });
    expect(node).not.toHaveProperty("address");
    expect(node).not.toHaveProperty("agentId");
  }
});

test("a remote agent that cannot be asked has the last state that is known, and a problem", async () => {
  await elsewhere.close();

  const { nodes } = await treeOf(root.id, "operator", "?owner=*");

  const worker = nodes.find(({ where }) => where === "remote");
  expect(worker).toMatchObject({ state: "completed", problem: expect.stringMatching(/./) });
});

test("tasks that name each other as their callers do not form an endless tree", async () => {
  await storeTask("egg", { references: ["hen"], calls: ["hen"] });
  await storeTask("hen", { references: ["egg"], calls: ["egg"] });

  const { nodes } = await treeOf("egg", "operator", "?owner=*");

  expect(nodes.map(({ taskId }) => taskId).toSorted()).toEqual(["egg", "hen"]);
});

test("a task that only names another one as its caller is not in its tree", async () => {
  await storeTask("cuckoo", { references: [root.id], calls: [] });
  await storeTask("nest", { references: [], calls: ["cuckoo"] });

  expect((await treeOf("cuckoo", "operator", "?owner=*")).rootId).toBe("cuckoo");
  const { nodes } = await treeOf("nest", "operator", "?owner=*");
  expect(nodes).toMatchObject([{ taskId: "nest" }, { taskId: "cuckoo", where: "unknown" }]);
});

test("a tree ends at 500 tasks, and says so", async () => {
  await storeTask("wide", {
    references: [],
    calls: Array.from({ length: 600 }, (_, n) => `w${n}`),
  });

  const { nodes, truncated } = await treeOf("wide", "operator", "?owner=*");

  expect([nodes.length, truncated]).toEqual([500, true]);
});

/** Stores a task whose first message and statuses name other tasks. */
async function storeTask(
  taskId: string,
  {
    references,
    calls: called,
  }: { readonly references: readonly string[]; readonly calls: readonly string[] },
): Promise<void> {
  const [contextId, timestamp] = ["c", new Date().toISOString()];
  const message = { ...aMessage("go"), referenceTaskIds: references };
  const events: readonly object[] = [
    { kind: "task", id: taskId, contextId, status: { state: "submitted" }, history: [message] },
    ...called.map((child) => {
      const metadata = { subAgent: { name: "other", taskId: child, contextId, state: "working" } };
      const status = { state: "working", timestamp, message: { ...aMessage("…"), metadata } };
      return { kind: "status-update", taskId, contextId, status, final: false };
    }),
  ];
  await backend.commit({
    taskId,
    create: { owner: "ann", contextId, agent: "Boss", agentId: "boss", createdAt: Date.now() },
    epoch: 1,
    events: events.map((event) => JSON.stringify(event as AgentEvent)),
    state: "working",
    statusAt: Date.now(),
    listed: true,
  });
}
