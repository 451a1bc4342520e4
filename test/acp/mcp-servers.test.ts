import { type McpServer as McpServerOfEditor, methods } from "@agentclientprotocol/sdk";
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ours } from "../mcp/a-world.ts";
import { markedProcesses } from "../mcp/marked-processes.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { type Editor, anEditor, select } from "./an-editor.ts";

const AGENT = fileURLToPath(new URL("agents/scripted-coder.ts", import.meta.url));

/** An MCP server over HTTP whose tool says with which key it was called. */
let web: Server;

beforeAll(async () => {
  web = createServer((request, response) => {
    void (async () => {
      const { method = "GET", headers } = request;
      const answer = await keyServer(String(headers["x-key"])).fetch(
        new Request("http://127.0.0.1/mcp", {
          method,
          headers: headers as Record<string, string>,
          ...(method === "POST" && { body: await text(request) }),
        }),
      );
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(await answer.text());
    })();
  });
  web.listen(0, "127.0.0.1");
  await once(web, "listening");
});

afterAll(() => {
  web.closeAllConnections();
  web.close();
});

function keyServer(key: string) {
  return createMcpHandler(() => {
    const server = new McpServer({ name: "keys", version: "1.0.0" });
    server.registerTool("key", {}, () => ({ content: [{ type: "text", text: `key ${key}` }] }));
    return server;
  });
}

/** A server of a program, and one of an address. */
function serversOf({ cwd }: Editor): McpServerOfEditor[] {
  const { command, args = [], env = {} } = ours("helpful-server");
  const variables = { ...env, NOTES: notesOf(cwd) };
  const { port } = web.address() as AddressInfo;
  return [
    {
      name: "notes",
      command,
      args: [...args],
      env: Object.entries(variables).map(([name, value]) => ({ name, value })),
    },
    {
      type: "http",
      name: "web",
      url: `http://127.0.0.1:${port}/mcp`,
      headers: [{ name: "x-key", value: "secret" }],
    },
  ];
}

function notesOf(cwd: string): string {
  return join(cwd, "..", "notes");
}

test("the MCP servers of an editor work in their session alone, within the policy, until it is closed", async () => {
  const editor = await anEditor([AGENT], { cwd: temporaryFolder() });
  const sessionId = await editor.newSession(serversOf(editor));
  editor.decide = () => {
    expect(existsSync(notesOf(editor.cwd))).toBe(false);
    return select("once");
  };

  await editor.prompt(sessionId, "call notes__write");
  expect(editor.permissions).toMatchObject([{ toolCall: { name: "notes__write" } }]);
  expect(readFileSync(notesOf(editor.cwd), "utf8")).toBe("wrote\n");

  editor.forget();
  await editor.request(methods.agent.session.setMode, { sessionId, modeId: "full" });
  await editor.prompt(sessionId, "call web__key");
  expect(editor.permissions).toEqual([]);
  expect(editor.text("agent_message_chunk")).toContain("key secret");

  editor.forget();
  await editor.prompt(await editor.newSession(), "which tools?");
  expect(editor.text("agent_message_chunk")).toContain("read_file");
  expect(editor.text("agent_message_chunk")).not.toMatch(/notes__|web__/);

  expect(markedProcesses()).toHaveLength(1);
  await editor.request(methods.agent.session.close, { sessionId });
  expect(markedProcesses()).toEqual([]);
});

test("a loaded session has the MCP servers that came with it, also for a call that waited for its permission", async () => {
  const cwd = temporaryFolder();
  const killed = await anEditor([AGENT], { cwd });
  const sessionId = await killed.newSession(serversOf(killed));
  killed.decide = () => new Promise(() => undefined);
  killed.prompt(sessionId, "call notes__write").catch(() => undefined);
  await killed.until(() => killed.permissions.length === 1);
  await killed.kill();

  const editor = await anEditor([AGENT], { cwd });
  await editor.load(sessionId, serversOf(editor));
  await editor.until(() => editor.text("agent_message_chunk").includes("written"));
  expect(readFileSync(notesOf(editor.cwd), "utf8")).toBe("wrote\n");

  await editor.load(sessionId);
  editor.forget();
  await editor.prompt(sessionId, "which tools?");
  expect(editor.text("agent_message_chunk")).not.toContain("notes__");
  expect(markedProcesses()).toEqual([]);

  const at = (type: "http" | "sse", name: string, url: string) => ({
    type,
    name,
    url,
    headers: [],
  });
  const sse = at("sse", "old", "http://127.0.0.1/sse");
  await expect(editor.newSession([sse])).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining("use stdio or http"),
  });
  const wrong = at("http", "wrong", "ftp://127.0.0.1");
  await expect(editor.newSession([wrong])).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining("mcpServers.wrong.url"),
  });
});
