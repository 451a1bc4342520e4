import type { ElicitResult } from "@modelcontextprotocol/client";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BIN } from "../cli/typist.ts";
import { succeed } from "../harness/program.ts";
import { serveConvoke } from "../start/convoke-process.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { Host, aHost, agentFile } from "./a-host.ts";

const accept = (content: ElicitResult["content"]): ElicitResult => ({ action: "accept", content });

describe.each([
  ["until 2025-11-25", false],
  ["of 2026-07-28", true],
])("a host %s", (_revision, isNew) => {
  let cwd: string;
  let notes: string;
  let clerk: Host;
  let writer: Host;

  beforeAll(async () => {
    cwd = mkdtempSync(join(tmpdir(), "convoke-mcp-"));
    notes = join(cwd, "notes");
    const options = { cwd, isNew, asks: true, env: { NOTES: notes } };
    [clerk, writer] = await Promise.all([
      Host.open([agentFile("clerk"), "--data", "memory"], options),
      Host.open([agentFile("writer"), "--data", "memory"], options),
    ]);
  });

  beforeEach(() => {
    writeFileSync(notes, "");
    for (const host of [clerk, writer]) host.asked.length = 0;
  });

  afterAll(async () => {
    await Promise.all([clerk.close(), writer.close()]);
    rmSync(cwd, { recursive: true });
  });

  const written = (): string => readFileSync(notes, "utf8");

  test("asks its user the agent's question, and the answer continues the same task", async () => {
    clerk.answer = () => accept({ answer: "Ann" });

    const called = await clerk.call("greet", { message: "hello" });

    expect(called.structure).toMatchObject({ state: "completed", text: "Hello, Ann!" });
    expect(clerk.asked).toMatchObject([{ mode: "form", message: "What is your name?" }]);
  });

  test("shows options as a choice", async () => {
    clerk.answer = () => accept({ answer: "large" });

    const called = await clerk.call("choose", { message: "hello" });

    expect(called.structure.text).toBe("Then it is large.");
    expect(clerk.asked).toMatchObject([
      { requestedSchema: { properties: { answer: { enum: ["small", "large"] } } } },
    ]);
  });

  test("leaves a question pending if its user does, and can answer it later", async () => {
    const actions: ElicitResult[] = [{ action: "cancel" }, { action: "decline" }];
    clerk.answer = () => actions.shift()!;

    const left = await clerk.call("greet", { message: "hello" });
    const { taskId } = left.structure;
    const again = await clerk.call("greet", { message: "", taskId });
    const done = await clerk.call("greet", { message: "Ann", taskId });

    expect(left.isError).toBe(false);
    expect(left.structure.state).toBe("input-required");
    expect(again.structure.state).toBe("input-required");
    expect(done.structure).toMatchObject({ taskId, text: "Hello, Ann!" });
    expect(clerk.asked).toHaveLength(2);
  });

  test("that fails to ask gets the question as text instead", async () => {
    clerk.answer = () => Promise.reject(new Error("nobody is there"));

    const called = await clerk.call("greet", { message: "hello" }).catch((error: Error) => error);

    // Since 2026-07-28 it is the host's own question, and its own error.
    if (isNew)
      expect(called).toMatchObject({ message: expect.stringContaining("nobody is there") });
    else expect(called).toMatchObject({ structure: { state: "input-required" }, isError: false });
  });

  test("lets its user approve a tool call, and shows all of it", async () => {
    writer.answer = () => accept({ decision: "once" });

    const called = await writer.call("the-writer", { message: "write milk" });

    expect(writer.asked).toHaveLength(1);
    expect(writer.asked[0]?.message).toMatch(/^Approve: .*\nRisk: \w+\n/);
    expect(writer.asked[0]?.message).toContain('Tool: write\nArguments: {\n  "text": "milk"\n}');
    expect(called.structure.text).toBe('Done: ["written"]');
    expect(written()).toBe("milk\n");
  });

  test("lets each of several calls be decided, and a rejection reaches the agent", async () => {
    writer.answer = ({ message }) =>
      message.includes("again")
        ? accept({ decision: "reject", feedback: "once is enough" })
        : accept({ decision: "once" });

    const called = await writer.call("the-writer", { message: "twice milk" });

    expect(writer.asked).toHaveLength(2);
    expect(called.structure.text).toContain("once is enough");
    expect(written()).toBe("milk\n");
  });

  test("rejects a call if the form is declined, and leaves it pending if the form is closed", async () => {
    const actions: ElicitResult[] = [{ action: "cancel" }, { action: "decline" }];
    writer.answer = () => actions.shift()!;

    const left = await writer.call("the-writer", { message: "write milk" });
    const { taskId } = left.structure;
    const refused = await writer.call("the-writer", { message: "", taskId });

    expect(left.isError).toBe(false);
    expect(left.structure.state).toBe("input-required");
    expect(refused.structure.state).toBe("completed");
    expect(refused.structure.text).toMatch(/reject/i);
    expect(written()).toBe("");
  });

  test("sends its user to a sign-in page, and continues when they confirm", async () => {
    writer.answer = ({ mode }) => (mode === "url" ? { action: "accept" } : accept({ done: true }));

    const called = await writer.call("the-writer", { message: "enter" });

    expect(writer.asked).toMatchObject([
      { mode: "url", url: "https://login.example/writer" },
      { mode: "form", message: expect.stringMatching(/Is it done\?$/) },
    ]);
    expect(called.structure.text).toBe('Done: ["entered after done"]');
  });

  test("is never asked for a secret, and gets the place where it can be entered", async () => {
    const called = await writer.call("the-writer", { message: "unlock" });
    const { taskId } = called.structure;
    const tried = await writer.call("the-writer", { message: "1234", taskId });

    expect(writer.asked).toEqual([]);
    expect(called.isError).toBe(false);
    expect(called.text).toContain("asks for something secret: What is the password?");
    expect(called.text).toContain(`--task ${taskId} -`);
    expect(tried.text).toContain("The message was not sent.");
    expect(tried.structure.state).toBe("input-required");
  });
});

describe("a host without a user", () => {
  test("gets the question, or the sign-in URL, and how to answer", async () => {
    const host = await aHost([agentFile("clerk"), "--data", "memory"], { cwd: temporaryFolder() });

    const asked = await host.call("choose", { message: "hello" });
    const { taskId } = asked.structure;
    const chosen = await host.call("choose", { message: "small", taskId });
    const away = await host.call("sign_in", { message: "hello" });
    const back = await host.call("sign_in", { message: "done", taskId: away.structure.taskId });

    expect(asked.isError).toBe(false);
    expect(asked.text).toContain(
      "The agent asks: Which size? (small / large)\nOptions: small, large",
    );
    expect(asked.text).toContain(`call choose again with taskId "${taskId}"`);
    expect(chosen.structure.text).toBe("Then it is small.");
    expect(away.structure.state).toBe("auth-required");
    expect(away.text).toContain("Address: https://login.example/clerk");
    expect(back.structure.text).toBe("You are in.");
  });

  test("cannot approve with text: a person decides elsewhere, and then it gets the result", async () => {
    const cwd = temporaryFolder();
    const notes = join(cwd, "notes");
    writeFileSync(notes, "");
    const args = ["serve", agentFile("writer")];
    const { url } = await serveConvoke({ cwd, args, env: { NOTES: notes } });
    const host = await aHost([url], { cwd });

    const asked = await host.call("the-writer", { message: "write milk" });
    const { taskId } = asked.structure;
    const tried = await host.call("the-writer", { message: "approve", taskId });
    expect(asked.text).toContain("is waiting for a decision by a person");
    expect(tried.text).toContain("The message was not sent.");
    expect(readFileSync(notes, "utf8")).toBe("");

    const [, command = ""] =
      /To decide, a person can run: node \S+convoke\.js (.*)/.exec(asked.text) ?? [];
    await succeed(process.execPath, [BIN, ...command.split(" ")], { cwd });
    const done = await host.call("the-writer", { message: "", taskId });

    expect(done.structure).toMatchObject({ state: "completed", text: 'Done: ["written"]' });
    expect(readFileSync(notes, "utf8")).toBe("milk\n");
  });
});
