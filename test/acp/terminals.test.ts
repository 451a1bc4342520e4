import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { randomInt } from "node:crypto";
import {
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Editor } from "./an-editor.ts";

const AGENT = fileURLToPath(new URL("agents/scripted-coder.ts", import.meta.url));

/** An editor with terminals of both kinds: those that it runs itself, and those that it only shows. */
const capabilities = { terminal: true, _meta: { terminal_output: true } };

let editor: Editor;

beforeAll(async () => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), "convoke-acp-")));
  editor = await Editor.open([AGENT], { cwd, capabilities });
});

beforeEach(() => editor.forget());

afterAll(async () => {
  await editor.kill();
  rmSync(dirname(editor.cwd), { recursive: true, force: true });
});

function runs(command: string): string {
  return `call run_shell ${JSON.stringify({ command })}`;
}

/** The metadata of all updates of one kind. */
function metaOf(updates: readonly SessionUpdate[], key: string): readonly Terminal[] {
  return updates.flatMap(({ _meta: meta }) => {
    const found = meta?.[key];
    return found === undefined ? [] : [found as Terminal];
  });
}

type Terminal = Readonly<Record<string, unknown>>;

function shown(updates: readonly SessionUpdate[]): string {
  return metaOf(updates, "terminal_output")
    .map(({ data }) => String(data))
    .join("");
}

/** Whether a process with these words is running. */
function isRunning(words: string): boolean {
  return readdirSync("/proc").some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").includes(words);
    } catch {
      return false;
    }
  });
}

test("a command runs at the agent and shows its output as it comes and its exit code in a terminal, also when the session is loaded", async () => {
  const sessionId = await editor.newSession();

  const prompt = editor.prompt(
    sessionId,
    runs("echo one; until [ -e go ]; do sleep 0.1; done; echo two; exit 3"),
  );
  await editor.until(() => shown(editor.updates) === "one\n");
  writeFileSync(join(editor.cwd, "go"), "");
  await prompt;

  const [terminal] = metaOf(editor.updates, "terminal_info");
  expect(terminal).toMatchObject({ cwd: editor.cwd });
  const terminalId = terminal?.["terminal_id"];
  expect(editor.toolCalls).toMatchObject([
    { kind: "execute", status: "completed", content: [{ type: "terminal", terminalId }] },
  ]);
  const end = [{ terminal_id: terminalId, exit_code: 3, signal: null }];
  expect(shown(editor.updates)).toBe("one\ntwo\n");
  expect(metaOf(editor.updates, "terminal_exit")).toEqual(end);

  editor.forget();
  await editor.load(sessionId);
  expect(shown(editor.updates)).toBe("one\ntwo\n");
  expect(metaOf(editor.updates, "terminal_exit")).toEqual(end);
});

test("a command that is canceled is killed, and its terminal ends", async () => {
  const sessionId = await editor.newSession();
  const sleep = `sleep 600.${randomInt(1_000_000_000)}`;

  const prompt = editor.prompt(sessionId, runs(`echo started; ${sleep}`));
  await editor.until(() => shown(editor.updates) === "started\n");
  await expect.poll(() => isRunning(sleep), { timeout: 20_000 }).toBe(true);
  await editor.cancel(sessionId);

  expect(await prompt).toMatchObject({ stopReason: "cancelled" });
  expect(metaOf(editor.updates, "terminal_exit")).toHaveLength(1);
  expect(editor.toolCalls).toMatchObject([{ status: "failed" }]);
  await expect.poll(() => isRunning(sleep), { timeout: 20_000 }).toBe(false);
});
