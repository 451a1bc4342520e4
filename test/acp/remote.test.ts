import { EXTENSIONS, type Task, openApprovals } from "@convoke/protocol";
import { defineAgent, tool } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { type RemoteAgent, connect, serve } from "convoke";
import { createJsonLogger } from "@convoke/engine";
import { expect, onTestFinished, test } from "vitest";
import { Workspace, codingAgent } from "../coder-wire/a-coding-agent.ts";
import { calls } from "../loop/scripts.ts";
import { eventually } from "../mcp/eventually.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { anEditor, select } from "./an-editor.ts";

type Served = Parameters<typeof serve>[0];

/** An agent that is served here, and another client of its tasks. */
async function serveAgent(
  agent: Served,
): Promise<{ url: string; remote: RemoteAgent; stop: () => Promise<void> }> {
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(agent, { port: 0, data: "memory", logger });
  const remote = await connect(server.url, { extensions: [EXTENSIONS.approvals.uri] });
  const stop = () => server.close({ drainMs: 0 });
  onTestFinished(async () => {
    remote.close();
    await stop();
  });
  return { url: server.url, remote, stop };
}

async function onlyTask(remote: RemoteAgent): Promise<Task> {
  const [task] = (await remote.list()).tasks;
  return remote.get(task?.id ?? "");
}

const WRITE = calls("write_file", { path: "/project/a.ts", content: "two\n" }, "c1");
const RUN = calls("run_command", { command: "ls" }, "c2");

test("a task goes on when the editor dies, and a loaded session shows its result", async () => {
  const go = Promise.withResolvers<void>();
  const slow = tool({
    name: "slow",
    description: "Waits.",
    run: async () => {
      await go.promise;
      return "waited";
    },
  });
  const model = scriptedModel([calls("slow", {}, "c1"), "It is done."]);
  const { url, remote } = await serveAgent(codingAgent(model, { tools: [slow] }));
  const cwd = temporaryFolder();
  const killed = await anEditor([url], { cwd });
  const sessionId = await killed.newSession();
  killed.prompt(sessionId, "work").catch(() => undefined);
  await killed.until(() => killed.toolCalls.some(({ status }) => status === "in_progress"));
  await killed.kill();

  const editor = await anEditor([url], { cwd });
  await editor.load(sessionId);
  expect(editor.toolCalls).toMatchObject([{ name: "slow", status: "in_progress" }]);
  expect((await onlyTask(remote)).status.state).toBe("working");
  go.resolve();
  await editor.until(() => editor.text("agent_message_chunk") === "It is done.");

  const again = await anEditor([url], { cwd });
  await again.load(sessionId);
  expect(again.text("user_message_chunk")).toBe("work");
  expect(again.toolCalls).toMatchObject([{ name: "slow", status: "completed" }]);
  expect(again.text("agent_message_chunk")).toBe("It is done.");
});

test("a session that is loaded again replaces the one before, and can be canceled although the agent is gone", async () => {
  const workspace = new Workspace();
  const model = scriptedModel([WRITE, calls("run_command", { command: "sleep" }, "c2")]);
  const { url, stop } = await serveAgent(codingAgent(model, { workspace }));
  const editor = await anEditor([url], { cwd: temporaryFolder() });
  editor.decide = () => new Promise(() => undefined);
  const sessionId = await editor.newSession();
  const prompt = editor.prompt(sessionId, "write");
  await editor.until(() => editor.permissions.length === 1);

  editor.decide = () => select("once");
  await editor.load(sessionId);

  expect(await prompt).toEqual({ stopReason: "cancelled" });
  await workspace.running.promise;
  expect(editor.permissions).toHaveLength(3);
  expect(workspace.files.get("/project/a.ts")).toBe("two\n");
  await stop();
  const next = editor.prompt(sessionId, "hello");
  await editor.cancel(sessionId);
  expect(await next).toEqual({ stopReason: "cancelled" });
});

test("a decision is sent when it is made, and a permission that was decided elsewhere is withdrawn", async () => {
  const workspace = new Workspace();
  const agent = codingAgent(scriptedModel([[WRITE, RUN], "Done."]), { workspace });
  const { url, remote } = await serveAgent(agent);
  const editor = await anEditor([url], { cwd: temporaryFolder() });
  editor.decide = ({ toolCall }) =>
    toolCall.name === "write_file" ? select("once") : new Promise(() => undefined);
  const sessionId = await editor.newSession();

  const prompt = editor.prompt(sessionId, "write and run");
  await editor.until(() => editor.permissions.length === 2);
  await eventually(async () => {
    const open = openApprovals(await onlyTask(remote), new Date());
    expect(open.map(({ tool: { callId } }) => callId)).toEqual(["c2"]);
  });
  const { id, contextId } = await onlyTask(remote);
  const answer = { kind: "data", data: { callId: "c2", option: "once" } } as const;
  await remote.send([answer], { taskId: id, contextId, wait: false });

  expect(await prompt).toMatchObject({ stopReason: "end_turn" });
  expect(editor.permissions).toHaveLength(2);
  expect(workspace.files.get("/project/a.ts")).toBe("two\n");
  expect(workspace.commands).toEqual(["ls"]);
  expect(editor.text("agent_message_chunk")).toBe("Done.");
});

test("an agent without the coder extension shows its tool calls and its text", async () => {
  const weather = tool({
    name: "get_weather",
    description: "The weather.",
    confirm: "ask",
    run: () => ({ sky: "clear" }),
  });
  const model = scriptedModel([calls("get_weather", {}, "c1"), "The sky is clear."]);
  const agent = defineAgent({ name: "W", description: "Weather", model, tools: [weather] });
  const { url } = await serveAgent(agent);
  const editor = await anEditor([url], { cwd: temporaryFolder() });
  editor.decide = () => select("once");

  const { stopReason } = await editor.prompt(await editor.newSession(), "weather?");

  expect(stopReason).toBe("end_turn");
  expect(editor.toolCalls).toMatchObject([
    { name: "get_weather", kind: "read", status: "completed", rawOutput: { sky: "clear" } },
  ]);
  expect(editor.text("agent_message_chunk")).toBe("The sky is clear.");
});

test("a rejected task is a refusal, and a session with MCP servers is rejected with the reason", async () => {
  const agent = defineAgent({
    name: "No",
    description: "Rejects",
    run: ({ reject }) => reject("I do not do that."),
  });
  const { url } = await serveAgent(agent);
  const editor = await anEditor([url], { cwd: temporaryFolder() });

  const { stopReason } = await editor.prompt(await editor.newSession(), "do it");

  expect(stopReason).toBe("refusal");
  expect(editor.text("agent_message_chunk")).toBe("I do not do that.");
  const files = { name: "files", command: "mcp-files", args: [], env: [] };
  await expect(editor.newSession([files])).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining("(files); configure them at the agent"),
  });
});

test("an agent that cannot be reached is an error of initialize, and MCP servers can be ignored", async () => {
  const cwd = temporaryFolder();
  await expect(anEditor(["http://127.0.0.1:9"], { cwd })).rejects.toMatchObject({
    code: -32603,
    message: expect.stringContaining("127.0.0.1:9"),
  });

  const { url } = await serveAgent(codingAgent(scriptedModel(["Hi."])));
  const editor = await anEditor([url, "--ignore-mcp"], { cwd });
  await editor.newSession([{ name: "files", command: "mcp-files", args: [], env: [] }]);
  expect(editor.stderr).toContain("files");
});
