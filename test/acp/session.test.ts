import { type SessionUpdate, methods } from "@agentclientprotocol/sdk";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Editor, anEditor, select } from "./an-editor.ts";

const AGENT = fileURLToPath(new URL("agents/coding.ts", import.meta.url));

/** A folder with a workspace. */
function aFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "convoke-acp-")));
  mkdirSync(join(folder, "work"));
  folders.push(folder);
  return folder;
}

const folders: string[] = [];
/** One process for all tests that do not kill it: each has a session of its own. */
let editor: Editor;

beforeAll(async () => {
  editor = await Editor.open([AGENT], { cwd: aFolder() });
});

beforeEach(() => {
  editor.forget();
  writeFileSync(join(editor.cwd, "a.txt"), "one\n");
});

afterAll(async () => {
  await editor.kill();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function kindsOf(updates: readonly SessionUpdate[]): readonly string[] {
  return updates
    .map(({ sessionUpdate }) => sessionUpdate)
    .filter((kind, place, all) => kind !== all[place - 1]);
}

describe("a prompt", () => {
  test("shows the thought, the plan, tool calls and text, and edits the file once it is permitted", async () => {
    const file = join(editor.cwd, "a.txt");
    const sessionId = await editor.newSession();
    editor.decide = () => {
      expect(readFileSync(file, "utf8")).toBe("one\n");
      return select("once");
    };

    const { stopReason, _meta } = await editor.prompt(sessionId, "edit the file");

    expect(stopReason).toBe("end_turn");
    expect(JSON.stringify(_meta)).toContain('"inputTokens"');
    expect(readFileSync(file, "utf8")).toBe("two\n");
    expect(editor.permissions).toMatchObject([
      {
        sessionId,
        toolCall: {
          title: "Replace a.txt",
          name: "write_file",
          kind: "edit",
          status: "pending",
          content: [{ type: "diff", path: file, oldText: "one\n", newText: "two\n" }],
          locations: [{ path: file }],
        },
        options: [
          { optionId: "once", kind: "allow_once" },
          { optionId: "conversation", kind: "allow_always" },
          { optionId: "always", kind: "allow_always" },
          { optionId: "reject", kind: "reject_once" },
        ],
      },
    ]);
    expect(kindsOf(editor.updates)).toEqual([
      "available_commands_update",
      "agent_thought_chunk",
      "tool_call",
      "tool_call_update",
      "plan",
      "tool_call_update",
      "tool_call",
      "tool_call_update",
      "agent_message_chunk",
    ]);
    expect(editor.toolCalls).toMatchObject([
      { name: "update_plan", status: "completed" },
      { name: "read_file", kind: "read", status: "completed", locations: [{ path: file }] },
      { name: "write_file", kind: "edit", status: "completed" },
    ]);
    expect(editor.text("agent_thought_chunk")).toContain("I write the file.");
    expect(editor.text("agent_message_chunk")).toMatch(/^Done: .*a\.txt/);
    expect(editor.updates).toContainEqual({
      sessionUpdate: "plan",
      entries: [{ content: "Write the file", status: "in_progress", priority: "high" }],
    });
  });

  test("asks for all permissions at once, and a rejected call does not run", async () => {
    const sessionId = await editor.newSession();
    editor.decide = async ({ toolCall }) => {
      await editor.until(() => editor.permissions.length === 2);
      return select(toolCall.title?.includes("b.txt") === true ? "once" : "reject");
    };

    expect(await editor.prompt(sessionId, "both files")).toMatchObject({ stopReason: "end_turn" });
    expect(editor.permissions).toHaveLength(2);
    expect(readFileSync(join(editor.cwd, "b.txt"), "utf8")).toBe("B\n");
    expect(existsSync(join(editor.cwd, "c.txt"))).toBe(false);
    expect(editor.toolCalls.map(({ status }) => status)).toEqual(["completed", "failed"]);
  });

  test("brings images, links and embedded resources to the model", async () => {
    const sessionId = await editor.newSession();

    await editor.prompt(sessionId, [
      { type: "text", text: "look" },
      { type: "image", mimeType: "image/png", data: "iVBORw0K" },
      { type: "resource_link", name: "a.txt", uri: "file:///project/a.txt" },
      { type: "resource", resource: { uri: "file:///project/b.txt", text: "inside b" } },
    ]);

    const answer = editor.text("agent_message_chunk");
    expect(answer).toContain("iVBORw0K");
    expect(answer).toContain("[@a.txt](file:///project/a.txt)");
    expect(answer).toContain("inside b");
  });

  test.each([
    ["talk", "max_tokens"],
    ["swear", "refusal"],
  ])("that the model cannot finish (%s) ends with %s", async (said, stopReason) => {
    expect(await editor.prompt(await editor.newSession(), said)).toMatchObject({ stopReason });
  });

  test("of a task that fails is rejected with its reason", async () => {
    const sessionId = await editor.newSession();

    await expect(editor.prompt(sessionId, "break")).rejects.toMatchObject({
      code: -32603,
      message: expect.stringContaining("The task failed"),
    });
  });
});

describe("a question of the agent", () => {
  test("is a form, if the editor has forms", async () => {
    const capabilities = { elicitation: { form: {} } };
    const withForms = await anEditor([AGENT], { cwd: aFolder(), capabilities });
    withForms.answer = () => ({ action: "accept", content: { answer: "blue" } });

    const { stopReason } = await withForms.prompt(await withForms.newSession(), "ask me");

    expect(stopReason).toBe("end_turn");
    expect(withForms.questions).toMatchObject([
      { mode: "form", message: expect.stringContaining("Which colour?") },
    ]);
    expect(withForms.text("agent_message_chunk")).toBe('Done: "It is blue"');
  });

  test("is a message otherwise, and the next prompt answers it", async () => {
    const sessionId = await editor.newSession();

    expect(await editor.prompt(sessionId, "ask me")).toMatchObject({ stopReason: "end_turn" });
    expect(editor.text("agent_message_chunk")).toMatch(/Which colour\?[^]*- red\n- blue$/);
    await editor.prompt(sessionId, "red");

    expect(editor.text("agent_message_chunk")).toMatch(/Done: "It is red"$/);
  });
});

describe("cancel", () => {
  test("ends a running tool, the task and the prompt", async () => {
    const sessionId = await editor.newSession();

    const prompt = editor.prompt(sessionId, "build it");
    await editor.until(() => JSON.stringify(editor.toolCalls).includes("compiling"));
    expect(editor.toolCalls).toMatchObject([{ kind: "execute", status: "in_progress" }]);
    await editor.cancel(sessionId);

    expect(await prompt).toMatchObject({ stopReason: "cancelled" });
    expect(editor.toolCalls).toMatchObject([{ status: "failed" }]);
    expect(await editor.prompt(sessionId, "hello")).toMatchObject({ stopReason: "end_turn" });
  });

  test("withdraws a permission that was asked for, and the call does not run", async () => {
    const sessionId = await editor.newSession();
    const decision = Promise.withResolvers<ReturnType<typeof select>>();
    editor.decide = () => decision.promise;

    const prompt = editor.prompt(sessionId, "edit the file");
    await editor.until(() => editor.permissions.length === 1);
    await editor.cancel(sessionId);

    expect(await prompt).toMatchObject({ stopReason: "cancelled" });
    decision.resolve(select("once"));
    expect(editor.toolCalls.at(-1)).toMatchObject({ name: "write_file", status: "failed" });
    expect(readFileSync(join(editor.cwd, "a.txt"), "utf8")).toBe("one\n");
  });
});

test("a session that was killed with an open permission is loaded with its history, asks again, and goes on", async () => {
  const cwd = aFolder();
  writeFileSync(join(cwd, "work/a.txt"), "one\n");
  const killed = await anEditor([AGENT], { cwd });
  const sessionId = await killed.newSession();
  await killed.prompt(sessionId, "hello");
  killed.decide = () => new Promise(() => undefined);
  killed.prompt(sessionId, "edit the file").catch(() => undefined);
  await killed.until(() => killed.permissions.length === 1);
  await killed.kill();

  const second = await anEditor([AGENT], { cwd });
  const allowed = Promise.withResolvers<void>();
  second.decide = async () => {
    await allowed.promise;
    return select("once");
  };
  await second.load(sessionId);

  expect(second.text("user_message_chunk")).toBe("helloedit the file");
  expect(second.text("agent_message_chunk")).toMatch(/^You sent /);
  expect(second.toolCalls.at(-1)).toMatchObject({ name: "write_file", status: "pending" });
  allowed.resolve();
  await second.until(() => second.text("agent_message_chunk").includes("Done: "));
  expect(readFileSync(join(second.cwd, "a.txt"), "utf8")).toBe("two\n");

  const { sessions } = await second.request(methods.agent.session.list, { cwd: second.cwd });
  expect(sessions).toMatchObject([{ sessionId, cwd: second.cwd, title: "hello" }]);
});

test("modes are offered and chosen, and others are rejected", async () => {
  const { sessionId, modes } = await editor.request(methods.agent.session.new, {
    cwd: editor.cwd,
    mcpServers: [],
  });
  const { setMode } = methods.agent.session;

  expect(modes?.availableModes.map(({ id }) => id)).toEqual(["plan", "ask", "auto-edit", "full"]);
  await editor.request(setMode, { sessionId, modeId: "plan" });
  await expect(editor.request(setMode, { sessionId, modeId: "yolo" })).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining("plan, ask, auto-edit, full"),
  });
});

test("errors say what is wrong, and standard output has only the protocol", async () => {
  const { session } = methods.agent;
  const mcpServers = [{ name: "files", command: "mcp-files", args: [], env: [] }];

  await expect(editor.prompt("unknown", "hello")).rejects.toMatchObject({ code: -32002 });
  await expect(editor.load("unknown")).rejects.toMatchObject({ code: -32002 });
  await expect(editor.request(session.new, { cwd: "work", mcpServers: [] })).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining("absolute path"),
  });
  await expect(editor.request(session.new, { cwd: editor.cwd, mcpServers })).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining("--ignore-mcp"),
  });

  const lines = editor.stdout.trimEnd().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { jsonrpc: string }).jsonrpc)).not.toContain(
    undefined,
  );
  expect(editor.stderr).toContain("loaded");
});
