import { createJsonLogger } from "@convoke/engine";
import { connect } from "@convoke/client";
import { defineAgent, tool } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { serve } from "../host/serve-agent.ts";
import { json, runCli, startFakeAgent } from "./testing/run-cli.suite.ts";
import { serveDemo } from "./testing/serve-demo.suite.ts";

/** A liveness bound for a slow machine. */
const WAIT = { timeout: 20_000 };

/** A server on which one call waits for approval. */
async function waitingCall() {
  const ran: unknown[] = [];
  const guarded = tool({
    name: "delete",
    description: "Deletes a file.",
    inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    confirm: () => ({ title: "Delete \u001b[2Jit", risk: "warning" }),
    run: (input) => {
      ran.push(input);
      return "deleted";
    },
  });
  const model = scriptedModel([
    { kind: "tool-call", toolName: "delete", input: { path: "a.txt" } },
    "Done.",
  ]);
  const agent = defineAgent({
    name: "Thinker",
    description: "Thinks.",
    model,
    tools: [guarded],
  });
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(agent, { port: 0, data: "memory", logger });
  onTestFinished(() => server.close());
  const client = await connect(server.url);
  const { task } = await client.send("delete a.txt");
  const url = server.url.replace(/\/$/, "");
  const { stdout } = await runCli(["approvals", "list", url, "--json"]);
  const { approvals } = JSON.parse(stdout) as { readonly approvals: readonly { id: string }[] };
  const isOver = async (): Promise<boolean> =>
    (await client.get(task!.id)).status.state === "completed";
  return { url, id: approvals[0]!.id, approvals, taskId: task!.id, ran, model, isOver };
}

/** The same behind another agent, which only passes the work on. */
async function waitingCallBelow() {
  const worker = defineAgent({
    name: "Worker",
    description: "Deletes.",
    model: scriptedModel([{ kind: "tool-call", toolName: "delete", input: {} }]),
    tools: [
      tool({ name: "delete", description: "Deletes.", confirm: "ask", run: () => "deleted" }),
    ],
  });
  const boss = defineAgent({
    name: "Boss",
    description: "Has others work.",
    model: scriptedModel([{ kind: "tool-call", toolName: "worker", input: { message: "go" } }]),
    subAgents: { worker },
  });
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(boss, { port: 0, data: "memory", logger });
  onTestFinished(() => server.close());
  await (await connect(server.url)).send("go");
  return { url: server.url.replace(/\/$/, "") };
}

describe("convoke approvals list", () => {
  test("shows for which sub-agent an approval is", async () => {
    const { url } = await waitingCallBelow();

    const { stdout } = await runCli(["approvals", "list", url]);

    expect(stdout).toContain("worker › Run delete");
  });

  test("shows pending approvals, and how to decide on them", async () => {
    const { url, id, approvals, taskId } = await waitingCall();

    const { code, stdout, stderr } = await runCli(["approvals", "list", url]);

    expect(code).toBe(0);
    const [heads, row, ...more] = stdout.trimEnd().split("\n");
    expect(heads).toMatch(/^ID +RISK +WAITS FOR +TITLE +CALL$/);
    expect(row).toMatch(/^(\S+) {2}warning {2}\d+s +Delete \[2Jit +delete \{"path":"a\.txt"\}$/);
    expect(row).toContain(id);
    expect(more).toEqual([]);
    expect(stderr).toBe(
      `Decide with: convoke approvals answer ${url} ${id} --approve, or --reject "why"\n`,
    );
    expect(approvals).toMatchObject([{ taskId, tool: "delete", arguments: { path: "a.txt" } }]);
  });

  test("reports that nothing is pending", async () => {
    const { url } = await serveDemo();

    expect(await runCli(["approvals", "list", url])).toEqual({
      code: 0,
      stdout: "",
      stderr: "No approvals are pending.\n",
    });
  });
});

describe("convoke approvals answer", () => {
  test.each<[readonly string[], string, readonly unknown[]]>([
    [["--approve"], "Approved: ", [{ path: "a.txt" }]],
    [
      ["--approve", "--for", "conversation"],
      "Approved for the rest of the conversation: ",
      [{ path: "a.txt" }],
    ],
    [["--reject", "keep it"], "Rejected: ", []],
    [["--edit", '{"path":"b.txt"}'], "Approved with other arguments: ", [{ path: "b.txt" }]],
  ])("%j decides, and prints how to see the result", async (args, told, expected) => {
    const { url, id, taskId, ran, isOver } = await waitingCall();

    const finished = await runCli(["approvals", "answer", url, id, ...args]);

    expect(finished).toEqual({
      code: 0,
      stdout: `${told}${id}\n`,
      stderr: `Follow the task with: convoke tasks ${url} ${taskId} --watch\n`,
    });
    await vi.waitUntil(isOver, WAIT);
    expect(ran).toEqual(expected);
  });

  test("a second time is an error of the server", async () => {
    const { url, id, taskId } = await waitingCall();

    const first = await runCli(["approvals", "answer", url, id, "--approve", "--json"]);
    const second = await runCli(["approvals", "answer", url, id, "--approve"]);

    expect(JSON.parse(first.stdout)).toMatchObject({ id, taskId, decision: "once" });
    expect(second.code).toBe(3);
    expect(second.stderr).toContain("is not a pending approval: it was decided or withdrawn");
  });

  test.each<[readonly string[], string]>([
    [[], "The id of the approval is missing; convoke approvals list http://127.0.0.1:1 shows"],
    [["a1"], "Decide with exactly one of --approve, --reject <why> and --edit <json>."],
    [["a1", "--approve", "--reject", "x"], "Decide with exactly one of"],
    [["a1", "--reject", "x", "--for", "once"], "--for can only be used with --approve"],
    [["a1", "--approve", "--for", "alway"], "Did you mean always?"],
    [["a1", "--edit", "path=b"], "--edit must be a JSON object such as"],
    [["a1", "b2", "--approve"], '"b2" is an unexpected argument.'],
  ])("with %j is a usage error: %s", async (args, problem) => {
    const { code, stderr } = await runCli(["approvals", "answer", "http://127.0.0.1:1", ...args]);

    expect(code).toBe(2);
    expect(stderr).toContain(problem);
  });
});

describe("on other servers", () => {
  test("one without approvals is reported as not a Convoke server", async () => {
    const other = await startFakeAgent({
      pages: { "/convoke/approvals": () => ({ status: 404 }) },
    });

    expect(await runCli(["approvals", "list", other.url])).toEqual({
      code: 3,
      stdout: "",
      stderr: `The server at ${other.url} is not a Convoke server, or an older one: it has no information about approvals\n`,
    });
  });

  test("an invalid response is exit code 3", async () => {
    const other = await startFakeAgent({ pages: { "/convoke/approvals": () => json({}) } });

    const { code, stderr } = await runCli(["approvals", "list", other.url]);

    expect(code).toBe(3);
    expect(stderr).toBe("The response of the server has no list of approvals\n");
  });
});

test("text that reorders or hides itself is shown escaped", async () => {
  const approval = {
    id: "a1",
    risk: "info",
    title: "Send \u202Egpj.exe\u202C to\u200B Ann",
    tool: "send",
    arguments: { file: "a\u202Egpj.exe" },
  };
  const server = await startFakeAgent({
    pages: { "/convoke/approvals": () => json({ approvals: [approval] }) },
  });

  const { stdout } = await runCli(["approvals", "list", server.url], { isTerminal: true });
  const asJson = await runCli(["approvals", "list", server.url, "--json"]);

  expect(stdout).toContain("Send gpj.exe to Ann");
  expect(stdout).toContain(String.raw`send {"file":"a\u202egpj.exe"}`);
  expect(`${stdout}${asJson.stdout}`).not.toMatch(/[\u200B\u202C\u202E]/);
  expect(JSON.parse(asJson.stdout)).toEqual({ approvals: [approval] });
});
