import { type SessionConfigOption, type SessionUpdate, methods } from "@agentclientprotocol/sdk";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Editor } from "./an-editor.ts";

const AGENT = fileURLToPath(new URL("agents/scripted-coder.ts", import.meta.url));
const { session } = methods.agent;

let editor: Editor;

beforeAll(async () => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), "convoke-acp-")));
  editor = await Editor.open([AGENT], { cwd });
});

beforeEach(() => editor.forget());

afterAll(async () => {
  await editor.kill();
  rmSync(dirname(editor.cwd), { recursive: true, force: true });
});

/** The updates of one kind. */
function ofKind<Kind extends SessionUpdate["sessionUpdate"]>(kind: Kind) {
  return editor.updates.filter(
    (update): update is Extract<SessionUpdate, { sessionUpdate: Kind }> =>
      update.sessionUpdate === kind,
  );
}

function valuesOf(options: readonly SessionConfigOption[] | null | undefined) {
  return (options ?? []).map(({ id, currentValue }) => [id, currentValue]);
}

test("the mode and the model of a session are chosen, and the editor shows what is in effect", async () => {
  const opened = await editor.request(session.new, { cwd: editor.cwd, mcpServers: [] });
  const { sessionId } = opened;
  expect(valuesOf(opened.configOptions)).toEqual([
    ["mode", "ask"],
    ["model", "small"],
  ]);

  const { configOptions } = await editor.request(session.setConfigOption, {
    sessionId,
    configId: "model",
    value: "large",
  });
  expect(valuesOf(configOptions)).toContainEqual(["model", "large"]);
  await editor.prompt(sessionId, "who are you?");
  expect(editor.text("agent_message_chunk")).toContain("The model large");

  editor.forget();
  await editor.prompt(sessionId, "/mode plan");
  await editor.prompt(sessionId, "/model small");
  expect(ofKind("current_mode_update")).toMatchObject([{ currentModeId: "plan" }]);
  expect(valuesOf(ofKind("config_option_update").at(-1)?.configOptions)).toEqual([
    ["mode", "plan"],
    ["model", "small"],
  ]);

  const resumed = await editor.request(session.resume, { sessionId, cwd: editor.cwd });
  expect(resumed.modes?.currentModeId).toBe("plan");
  for (const [configId, value] of [
    ["model", "huge"],
    ["effort", "high"],
  ] as const) {
    await expect(
      editor.request(session.setConfigOption, { sessionId, configId, value }),
    ).rejects.toMatchObject({ code: -32602 });
  }
});

test("a session shows its title, how full its context is and what it has cost, also when it is loaded", async () => {
  const sessionId = await editor.newSession();

  await editor.prompt(sessionId, "Repair the tests");
  await editor.prompt(sessionId, "Go on");
  const [first, second] = ofKind("usage_update");
  expect(ofKind("session_info_update")).toMatchObject([{ title: "Repair the tests" }]);
  expect(first).toMatchObject({ size: 100_000, cost: { currency: "USD" } });
  expect(first?.used).toBeGreaterThan(0);
  // The context has the last request, and the cost has all of them.
  expect(second?.used).toBe(first?.used);
  expect(second?.cost?.amount).toBeCloseTo(2 * (first?.cost?.amount ?? 0));

  await editor.prompt(sessionId, "/sessions rename Green tests");
  editor.forget();
  await editor.load(sessionId);
  expect(ofKind("session_info_update")).toMatchObject([{ title: "Green tests" }]);
  const { sessionUpdate: _, ...usage } = second!;
  expect(ofKind("usage_update")).toMatchObject([usage]);
});

test("sessions are listed with their titles until they are deleted, and a deleted one stops working", async () => {
  const kept = await editor.newSession();
  await editor.prompt(kept, "Keep this");
  const deleted = await editor.newSession();
  editor.decide = () => new Promise(() => undefined);
  const prompt = editor.prompt(deleted, 'call write_file {"path":"a.txt","content":"a"}');
  await editor.until(() => editor.permissions.length === 1);
  const list = async () => {
    const { sessions } = await editor.request(session.list, { cwd: editor.cwd });
    return new Map(sessions.map(({ sessionId, title }) => [sessionId, title]));
  };
  expect((await list()).get(kept)).toBe("Keep this");
  expect((await list()).has(deleted)).toBe(true);

  await editor.request(session.delete, { sessionId: deleted });

  expect(await prompt).toMatchObject({ stopReason: "cancelled" });
  expect((await list()).has(deleted)).toBe(false);
  expect((await list()).has(kept)).toBe(true);
  expect((await editor.request(session.list, { cwd: "/elsewhere" })).sessions).toEqual([]);
  await expect(editor.prompt(deleted, "hello")).rejects.toMatchObject({ code: -32002 });
});
