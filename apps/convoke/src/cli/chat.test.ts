import { defineAgent, tool } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { createJsonLogger } from "@convoke/engine";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import {
  type Call,
  events,
  failure,
  pagesV1,
  result,
  runCli,
  startFakeAgent,
} from "./testing/run-cli.suite.ts";
import { talk } from "../chat/talk.ts";
import { withAgent } from "../connect/connect-options.ts";
import { serve } from "../host/serve-agent.ts";
import type { CommandContext } from "../terminal/command.ts";
import { chatCommand } from "./chat.ts";
import { serveDemo } from "./testing/serve-demo.suite.ts";

const contextIn = (stderr: string) => /--context (\S+)/.exec(stderr)?.[1] ?? "";
const wordsOf = (call: Call | undefined) =>
  (call?.params["message"] as { parts: readonly { text: string }[] } | undefined)?.parts[0]?.text;

describe("piped lines", () => {
  test("are answered in order, in one conversation", async () => {
    const { url } = await serveDemo();

    const { code, stdout, stderr } = await runCli(["chat", url], { stdin: "one\ntwo\nthree" });

    expect(code).toBe(0);
    expect(stdout.split("\n").map((line) => line.replace(/ Try: .*/, ""))).toEqual([
      "You said: one.",
      "You said: two. I remember 1 earlier message(s) of this conversation.",
      "You said: three. I remember 2 earlier message(s) of this conversation.",
      "",
    ]);
    expect(stderr).toMatch(new RegExp(`^Continue with: convoke chat ${url} --context \\S+\n$`));
  });

  test("continue where another chat ended", async () => {
    const { url } = await serveDemo();
    const before = await runCli(["chat", url], { stdin: "one\n" });

    const args = ["chat", url, "--context", contextIn(before.stderr)];
    const { stdout } = await runCli(args, { stdin: "two\n" });

    expect(stdout).toContain("I remember 1 earlier message(s)");
  });

  test("answer the agent's question", async () => {
    const { url } = await serveDemo();

    const { code, stdout, stderr } = await runCli(["chat", url], { stdin: "ask\nAnn\n" });

    expect({ code, stdout }).toEqual({ code: 0, stdout: "Hello, Ann!\n" });
    expect(stderr).toMatch(/^What is your name\?\n/);
  });

  test("decide on each of several approvals by its number, and a word without one withdraws nothing", async () => {
    const ran: unknown[] = [];
    const pay = tool({
      name: "pay",
      description: "Pays.",
      inputSchema: { type: "object", properties: { amount: { type: "number" } } },
      confirm: ({ input }) => ({ title: `Pay ${(input as { amount: number }).amount} €` }),
      run: (input) => {
        ran.push(input);
        return "paid";
      },
    });
    const payments = [20, 30].map(
      (amount) => ({ kind: "tool-call", toolName: "pay", input: { amount } }) as const,
    );
    const model = scriptedModel([payments, "Done."]);
    const agent = defineAgent({ name: "Clerk", description: "Pays.", model, tools: [pay] });
    const logger = createJsonLogger("silent", () => undefined);
    const server = await serve(agent, { port: 0, data: "memory", logger });
    onTestFinished(() => server.close());

    const stdin = "go\n/approvals\napprove\napprove 1\nreject: too much\n/usage\n";
    const { code, stdout, stderr } = await runCli(["chat", server.url], { stdin });

    expect(code).toBe(0);
    expect(ran).toEqual([{ amount: 20 }]);
    expect(stdout).toContain("Done.");
    expect(stderr).toContain("2 approvals are open");
    // A question that offers choices is not answered by their names.
    expect(stderr).not.toContain("once");
    expect(JSON.stringify(model.requests.at(-1)?.transcript)).toContain("too much");
    expect(stderr).toMatch(/\n\S+ {2}Pay 20 €\n\S+ {2}Pay 30 €\n/);
    expect(stderr).toMatch(/\n\d+ tokens\n/);
  });

  test("may end at a question: exit code 4, with a command that continues its task", async () => {
    const { url } = await serveDemo();

    const { code, stderr } = await runCli(["chat", url], { stdin: "ask\n" });
    const [, args = ""] = /convoke (chat .*)\n$/.exec(stderr) ?? [];
    const next = await runCli(args.split(" "), { stdin: "Ann\n" });

    expect(code).toBe(4);
    expect(next).toMatchObject({ code: 0, stdout: "Hello, Ann!\n" });
    expect(next.stderr).toMatch(/^What is your name\?\n/);
  });

  test("exit with code 1 if a task failed on the way", async () => {
    const { url } = await serveDemo();

    const { code, stdout, stderr } = await runCli(["chat", url], { stdin: "fail\nhello\n" });

    expect(code).toBe(1);
    expect(stdout).toContain("You said: hello.");
    expect(stderr).toContain("failed: It failed, as you asked.\n");
  });

  test("stop at a message that cannot be sent: exit code 3, and nothing more is sent", async () => {
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: (call) => failure(call, { code: -32603, message: "out of order" }),
    });

    const { code, stderr } = await runCli(["chat", agent.url], { stdin: "one\ntwo\n" });

    expect(code).toBe(3);
    expect(stderr).toContain("The agent answered with an error: out of order");
    expect(agent.seen.map(({ call }) => wordsOf(call))).toEqual([undefined, "one"]);
  });

  test("may be continued with a backslash, and start with a slash if it is doubled", async () => {
    const { url } = await serveDemo();

    const { stdout } = await runCli(["chat", url], {
      stdin: "first\\\nsecond\n//etc\nC:\\\\\n\n   \n",
    });

    expect(stdout).toContain("You said: first\nsecond.");
    expect(stdout).toContain("You said: /etc.");
    expect(stdout).toContain("You said: C:\\.");
    expect(stdout.match(/You said/g)).toHaveLength(3);
  });

  test("with --json give one answer each, and errors in JSON", async () => {
    const { url } = await serveDemo();

    const { code, stdout, stderr } = await runCli(["chat", url, "--json"], {
      stdin: "message\nask\n/nothing\n",
    });

    expect(code).toBe(4);
    const answers = stdout.trimEnd().split("\n");
    expect(answers.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { text: "This is one message, and there is no task behind it.", message: {} },
      { text: "What is your name?", question: { kind: "input-required" } },
    ]);
    const notices = stderr.trimEnd().split("\n");
    expect(notices.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { notice: { message: expect.stringMatching(/^Unknown command \/nothing\./) } },
      { notice: { message: expect.stringMatching(/^Continue with: convoke chat /) } },
    ]);
  });
});

describe("a question with options", () => {
  const asking = () => {
    const parts = [{ text: "Which?" }, { data: { options: ["Small", "20"] } }];
    return startFakeAgent({
      pages: pagesV1(),
      answer: (call) =>
        wordsOf(call) === "buy"
          ? events(call, [
              {
                task: {
                  id: "t1",
                  contextId: "c1",
                  status: {
                    state: "TASK_STATE_INPUT_REQUIRED",
                    message: { messageId: "q1", role: "ROLE_AGENT", parts },
                  },
                },
              },
            ])
          : events(call, [
              { message: { messageId: "m2", role: "ROLE_AGENT", parts: [{ text: "ok" }] } },
            ]),
    });
  };

  test("shows them with numbers", async () => {
    const agent = await asking();

    const { stderr } = await runCli(["chat", agent.url], { stdin: "buy\n" });

    expect(stderr).toMatch(/^Which\?\n {2}1 {2}Small\n {2}2 {2}20\n/);
  });

  test.each([
    ["1", "Small"],
    ["small", "Small"],
    ["2", "20"],
    ["20", "20"],
    ["3", "3"],
    ["neither", "neither"],
  ])("%s means %s", async (typed, meant) => {
    const agent = await asking();

    await runCli(["chat", agent.url], { stdin: `buy\n${typed}\n` });

    expect(wordsOf(agent.last.call)).toBe(meant);
    expect(agent.last.call?.params["message"]).toMatchObject({ taskId: "t1", contextId: "c1" });
  });
});

describe("an agent that waits for an authorization", () => {
  test("shows the URL, and continues with the next message", async () => {
    const { url } = await serveDemo();

    const { code, stdout, stderr } = await runCli(["chat", url], { stdin: "auth\ndone\n" });

    expect({ code, stdout }).toEqual({ code: 0, stdout: "Thank you, you are in.\n" });
    expect(stderr).toMatch(/^Sign in wherever you like, then send me any message\.\nContinue/);
  });

  test("may include the URL for programs only", async () => {
    const parts = [
      { text: "Sign in." },
      { data: { auth: { url: "https://login.example/\u001B7" } } },
    ];
    const message = { messageId: "q1", role: "ROLE_AGENT", parts };
    const status = { state: "TASK_STATE_AUTH_REQUIRED", message };
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: (call) =>
        events(
          call,
          [
            { task: { id: "t1", contextId: "c1", status: { state: "TASK_STATE_SUBMITTED" } } },
            { statusUpdate: { taskId: "t1", contextId: "c1", status } },
          ],
          "never",
        ),
    });

    const { code, stderr } = await runCli(["chat", agent.url], { stdin: "auth\n" });

    expect(code).toBe(4);
    expect(stderr).toContain("Sign in.\nOpen: https://login.example/7\n");
  });

  test("is polled again by an empty line", async () => {
    const { url, agent } = await serveDemo();
    async function* typing() {
      yield Buffer.from("auth\n\n");
      const { tasks } = await vi.waitUntil(
        async () => {
          const page = await agent.list({ state: "auth-required" });
          return page.tasks.length === 1 ? page : undefined;
        },
        { timeout: 20_000 },
      );
      await agent.send("it was me", { taskId: tasks[0]?.id });
      yield Buffer.from("\nhello\n");
    }

    const { code, stdout } = await runCli(["chat", url], { stdin: typing() });

    expect(code).toBe(0);
    expect(stdout).toMatch(/^Thank you, you are in\.\nYou said: hello\./);
  });
});

describe("the commands of a chat", () => {
  test("/new starts a new conversation", async () => {
    const { url } = await serveDemo();

    const { stdout, stderr } = await runCli(["chat", url], { stdin: "one\n/new\ntwo\n" });

    expect(stdout).not.toContain("remember");
    expect(stderr).toContain("Started a new conversation.\n");
  });

  test("/task shows its state, /cancel ends a waiting task, and the next message starts a new one", async () => {
    const { url } = await serveDemo();

    const { code, stdout, stderr } = await runCli(["chat", url], {
      stdin: "/task\n/cancel\nask\n/task\n/cancel\n/task\nhello\n",
    });

    expect(code).toBe(0);
    expect(stdout).toContain("You said: hello.");
    const lines = stderr.replaceAll(/[0-9a-f-]{36}/g, "ID").split("\n");
    expect(lines.slice(0, 9)).toEqual([
      "There is no task yet.",
      "No task is waiting for you.",
      "What is your name?",
      "task ID input-required",
      "context ID",
      "task ID canceled",
      "task ID canceled",
      "context ID",
      `Continue with: convoke chat ${url} --context ID`,
    ]);
  });

  test("/tasks lists tasks, and /resume continues one by the beginning of its id", async () => {
    const { url, agent } = await serveDemo();
    await agent.send("hello");
    const { task } = await agent.send("ask");
    const start = task?.id.slice(0, 24) ?? "";

    const stdin = `/tasks\n/approvals\n/resume ${start}\nAnn\n`;
    const { code, stdout, stderr } = await runCli(["chat", url], { stdin });
    const newest = await runCli(["chat", url], { stdin: "/resume\n" });

    expect({ code, stdout }).toEqual({ code: 0, stdout: "Hello, Ann!\n" });
    expect(stderr).toMatch(/^\S+ {2}input-required +\S+ {2}ask\n\S+ {2}completed +\S+ {2}hello\n/);
    expect(stderr).toContain("No tool call waits for a decision.\nWhat is your name?\n");
    expect(newest.stdout).toBe("Hello, Ann!\n");
  });

  test("/card shows the card, and /usage what the agent reports", async () => {
    const { url } = await serveDemo();

    const { stderr } = await runCli(["chat", url], { stdin: "/card\n/usage\n" });

    expect(stderr).toMatch(
      /^Convoke Demo [^]*\nSkills\n[^]*\nThe agent has reported no usage\.\n$/,
    );
  });

  test("the agent's own commands are listed, and sent to it as they are typed", async () => {
    const { url } = await serveDemo();
    const commands = [{ name: "/init", help: "look around" }];
    const run = (context: CommandContext) =>
      withAgent(context, (agent) => talk({ agent, context, state: {}, commands }));

    const { stdout, stderr } = await runCli(["chat", url], {
      stdin: "/help\n/init here\n/inti\n",
      commands: [{ ...chatCommand, run }],
    });

    expect(stderr).toMatch(/^\/init +look around$/m);
    expect(stderr).toContain("Did you mean /init?");
    expect(stdout).toMatch(/^You said: \/init here\./);
  });

  test("/quit skips the rest", async () => {
    const { url } = await serveDemo();

    const { code, stdout } = await runCli(["chat", url], { stdin: "/quit\nhello\n" });

    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  });

  test("/help lists them, and a typo is reported", async () => {
    const { url } = await serveDemo();

    const { stderr } = await runCli(["chat", url], { stdin: "/help\n/sav\n" });

    expect(stderr).toMatch(/^\/quit +leave/m);
    expect(stderr).toContain("Unknown command /sav. Did you mean /save?");
  });
});

describe("received files", () => {
  const agentWith = (...parts: readonly object[]) =>
    startFakeAgent({
      pages: pagesV1(),
      answer: (call) =>
        call.method === "GetTask"
          ? result(call, {})
          : events(call, [
              {
                task: {
                  id: "t1",
                  contextId: "c1",
                  status: { state: "TASK_STATE_COMPLETED" },
                  artifacts: [{ artifactId: "a1", parts }],
                },
              },
            ]),
    });

  function inFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), "convoke-files-"));
    const before = process.cwd();
    process.chdir(folder);
    onTestFinished(() => {
      process.chdir(before);
      rmSync(folder, { recursive: true, force: true });
    });
    return folder;
  }

  verifies("loop-L11", "are listed with numbers, and saved under safe names", async () => {
    const folder = inFolder();
    const agent = await agentWith(
      { raw: Buffer.from("one").toString("base64"), filename: "../../.bashrc" },
      { raw: Buffer.from("two").toString("base64"), filename: "/tmp/bashrc" },
      { raw: "AAAA", filename: "photo\u202Egpj.\u200Bexe" },
      { data: { id: 7 } },
      { text: "words" },
    );

    const { stdout, stderr } = await runCli(["chat", agent.url], { stdin: "hi\n/save\n" });

    expect(stdout).toBe("words\n");
    expect(stderr).toMatch(
      /^\[1\] \.\.\/\.\.\/\.bashrc: file .*3 B\n\[2\] .*\n\[3\] photogpj\.exe: .*\n\[4\] a1\.json: data/,
    );
    expect(stderr).toContain("Saved bashrc\nSaved bashrc-2\nSaved photogpj.exe\nSaved a1.json\n");
    expect(readdirSync(folder).toSorted()).toEqual([
      "a1.json",
      "bashrc",
      "bashrc-2",
      "photogpj.exe",
    ]);
    expect(readFileSync(join(folder, "bashrc-2"), "utf8")).toBe("two");
    expect(JSON.parse(readFileSync(join(folder, "a1.json"), "utf8"))).toEqual({ id: 7 });
  });

  test("are saved where the user says, and overwrite nothing", async () => {
    const folder = inFolder();
    const agent = await agentWith({ raw: "AAAA", filename: "x.bin" });

    const { stderr } = await runCli(["chat", agent.url], {
      stdin: "/save\nhi\n/save 1 my file.bin\n/save 1 my file.bin\n/save 2\n/save y.bin\n/files\n",
    });

    expect(readdirSync(folder)).toEqual(["my file.bin"]);
    expect(stderr.split("\n")).toEqual([
      "There are no files to save.",
      "[1] x.bin: file x.bin 3 B",
      "Saved my file.bin",
      "my file.bin already exists; choose another name.",
      "There is no file 2; /files lists them.",
      "/save needs the number of the file before the path; /files lists them.",
      "[1] x.bin: file x.bin 3 B",
      expect.stringMatching(/^Continue with/),
      "",
    ]);
  });

  test("that are only referenced are not fetched", async () => {
    inFolder();
    const agent = await agentWith({ url: "https://files.example/r.pdf", filename: "r.pdf" });

    const { stderr } = await runCli(["chat", agent.url], { stdin: "hi\n/save 1\n" });

    expect(stderr).toContain(
      "only the address of that file; download it yourself: file r.pdf https://files.example/r.pdf",
    );
  });
});
