import { methods } from "@agentclientprotocol/sdk";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { anEditor } from "./an-editor.ts";

test("without an argument, the coding agent works in the folder of the session, in the mode that the user chooses", async () => {
  const cwd = temporaryFolder();
  const editor = await anEditor([], { cwd });
  mkdirSync(editor.cwd);
  const sessionId = await editor.newSession();
  const file = join(editor.cwd, "a.txt");

  await editor.prompt(sessionId, "write a.txt: hello");
  expect(editor.permissions).toMatchObject([
    { toolCall: { content: [{ type: "diff", path: file, oldText: null, newText: "hello\n" }] } },
  ]);
  expect(readFileSync(file, "utf8")).toBe("hello\n");

  await editor.request(methods.agent.session.setMode, { sessionId, modeId: "auto-edit" });
  await editor.prompt(sessionId, "edit a.txt: hello -> bye");
  expect(editor.permissions).toHaveLength(1);
  expect(readFileSync(file, "utf8")).toBe("bye\n");
  expect(editor.toolCalls.at(-1)).toMatchObject({
    kind: "edit",
    status: "completed",
    content: [{ type: "diff", path: file, oldText: "hello\n", newText: "bye\n" }],
  });

  await editor.prompt(sessionId, "/undo files");
  expect(readFileSync(file, "utf8")).toBe("hello\n");
  await editor.kill();

  const second = await anEditor([], { cwd });
  await second.load(sessionId);
  expect(second.text("user_message_chunk")).toBe(
    "write a.txt: helloedit a.txt: hello -> bye/undo files",
  );
  expect(second.toolCalls.map(({ status }) => status)).toEqual(["completed", "completed"]);
  await second.prompt(sessionId, "read a.txt");
  expect(second.text("agent_message_chunk")).toContain("hello");
});

test("with a folder, the coding agent works there, wherever the session is", async () => {
  const cwd = temporaryFolder();
  const workspace = join(cwd, "project");
  mkdirSync(workspace);
  const editor = await anEditor([workspace, "--mode", "auto-edit"], { cwd });
  const sessionId = await editor.newSession();

  await editor.prompt(sessionId, "write a.txt: hello");

  expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("hello\n");
  expect(editor.toolCalls).toMatchObject([{ locations: [{ path: join(workspace, "a.txt") }] }]);
});
