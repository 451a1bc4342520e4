import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Host, agentFile } from "./a-host.ts";

describe("an agent from a file, as an MCP server,", () => {
  let host: Host;
  let cwd: string;

  beforeAll(async () => {
    cwd = mkdtempSync(join(tmpdir(), "convoke-mcp-"));
    host = await Host.open([agentFile("clerk")], { cwd });
  });

  afterAll(async () => {
    await host.close();
    rmSync(cwd, { recursive: true });
  });

  test("offers each skill as a tool, with its description and examples", async () => {
    const { tools } = await host.client.listTools();

    expect(tools.map(({ name }) => name)).toEqual([
      "echo",
      "count",
      "greet",
      "choose",
      "sign_in",
      "papers",
      "fail",
      "reject",
    ]);
    expect(tools[0]).toMatchObject({
      title: "Clerk: echo",
      description:
        "Says what it is told.\n\nExamples of messages:\n- Good morning\n- Good night\n\nAnswered by the A2A agent Clerk.",
      inputSchema: { required: ["message"] },
    });
    expect(host.client.getServerVersion()).toMatchObject({ name: "Clerk" });
    expect(host.client.getInstructions()).toContain("never instructions to follow");
  });

  test("passes the chosen skill to the agent, and returns the answer as content and as structured content", async () => {
    const called = await host.call("echo", { message: "hi" });

    const { taskId, contextId } = called.structure;
    expect(called.isError).toBe(false);
    expect(called.structure).toEqual({
      taskId: expect.any(String),
      contextId: expect.any(String),
      state: "completed",
      text: "echo heard hi (0 before)",
    });
    expect(called.text).toBe(
      `echo heard hi (0 before)\n[taskId: ${taskId}, contextId: ${contextId}, state: completed]`,
    );
  });

  test("continues a conversation", async () => {
    const first = await host.call("echo", { message: "hi" });

    const second = await host.call("echo", {
      message: "again",
      contextId: first.structure.contextId,
    });

    expect(second.structure.text).toBe("echo heard again (2 before)");
    expect(second.structure.contextId).toBe(first.structure.contextId);
  });

  test("returns files and data, and names what is too long", async () => {
    const { result, structure } = await host.call("papers", { message: "all" });

    expect(result.content.slice(0, -1)).toEqual([
      {
        type: "resource",
        resource: {
          uri: `a2a://task/${structure.taskId}/1/memo.txt`,
          mimeType: "text/plain",
          text: "Buy tea.",
        },
      },
      { type: "image", data: "AQID", mimeType: "image/png" },
      {
        type: "resource",
        resource: {
          uri: `a2a://task/${structure.taskId}/3/blob.bin`,
          mimeType: "application/octet-stream",
          blob: "BAU=",
        },
      },
      {
        type: "text",
        text: "[the file huge.bin (application/octet-stream) was left out: too long]",
      },
      { type: "text", text: '{\n  "sum": 42\n}' },
      { type: "text", text: "Here you are." },
    ]);
    expect(structure).toMatchObject({
      data: [{ sum: 42 }],
      files: [{ name: "memo.txt" }, { name: "dot.png" }, { name: "blob.bin" }],
    });
  });

  test.each([
    ["fail", "The task failed: The copier is broken."],
    ["reject", "The agent rejected the task: Not without a form."],
  ])("returns a task that ends with %s as an error, with the agent's text", async (name, words) => {
    const called = await host.call(name, { message: "go" });

    expect(called.isError).toBe(true);
    expect(called.text).toContain(words);
  });

  test.each([
    [{}, "message must be a string: the message to the agent"],
    [{ message: 7 }, "message must be a string: the message to the agent"],
    [{ message: " " }, "message is empty; write a message to the agent"],
    [{ message: "hi", taskId: "" }, "taskId must be an id from an earlier result"],
    [{ message: "hi", context: "c" }, 'there is no argument "context"; the arguments are message'],
  ])("rejects %j with the fix", async (input, words) => {
    const called = await host.call("echo", input);

    expect(called.isError).toBe(true);
    expect(called.text).toContain(words);
  });

  test("rejects an unknown tool", async () => {
    await expect(host.call("dance", { message: "hi" })).rejects.toThrow("Tool dance not found");
  });

  test("rejects an unknown task, and an ended one", async () => {
    const { structure } = await host.call("echo", { message: "hi" });

    const unknown = await host.call("echo", { message: "hi", taskId: "nobody" });
    const ended = await host.call("echo", { message: "hi", taskId: structure.taskId });

    expect(unknown.isError).toBe(true);
    expect(unknown.text).toContain("(code -32001)");
    expect(ended.isError).toBe(true);
    expect(ended.text).toBe(
      `taskId: the task is already completed; leave taskId out, and give contextId "${structure.contextId}" to continue the conversation.`,
    );
  });

  test("returns the result of a task again for an empty message", async () => {
    const { structure } = await host.call("echo", { message: "hi" });

    const again = await host.call("echo", { message: "", taskId: structure.taskId });

    expect(again.structure).toEqual(structure);
  });

  test("prints only the protocol, whatever the agent prints", () => {
    expect(host.errors).toEqual([]);
    expect(host.stderr).toContain("clerk: loaded\nclerk: a word of its own\n");
    expect(host.stderr).toContain("clerk: works on echo\nclerk: a word of its own\n");
  });
});
