import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@convoke/client";
import { createJsonLogger } from "@convoke/engine";
import type { Agent } from "@convoke/protocol";
import { defineAgent, tool } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { serve } from "../host/serve-agent.ts";
import { type AtTerminal, aHome, atTerminal } from "./testing/at-terminal.suite.ts";
import { type Call, events, pagesV1, startFakeAgent } from "./testing/run-cli.suite.ts";
import { serveDemo } from "./testing/serve-demo.suite.ts";

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const CTRL_L = "\u000C";
const ENTER = "\r";
const ESCAPE = "\u001B";
const UP = "\u001B[A";

async function served(agent: Agent): Promise<string> {
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(agent, { port: 0, data: "memory", logger });
  onTestFinished(() => server.close());
  return server.url;
}

/** An agent whose model calls `write` with these texts, all at once, and then says "Done." */
async function aClerk(...texts: readonly string[]) {
  const ran: string[] = [];
  const write = tool({
    name: "write",
    description: "Writes a file.",
    inputSchema: {
      type: "object",
      properties: { path: { type: "string" }, text: { type: "string" } },
    },
    confirm: ({ input }) => {
      const { path, text } = input as { readonly path: string; readonly text: string };
      const data = { path, before: "one\ntwo\n", after: text };
      return {
        title: `Write ${path}`,
        prompt: "It is replaced.",
        preview: [{ kind: "data", data }],
      };
    },
    run: (input) => {
      ran.push((input as { readonly text: string }).text);
      return "written";
    },
  });
  const calls = texts.map(
    (text) => ({ kind: "tool-call", toolName: "write", input: { path: "a.txt", text } }) as const,
  );
  const model = scriptedModel([calls, "Done.", calls, "Done again."]);
  const url = await served(defineAgent({ name: "Clerk", description: "d", model, tools: [write] }));
  return { url, ran, model };
}

/** Waits for the question, and then as long as keys are taken for a message that was being typed. */
async function isAsked({ screen }: AtTerminal, question = "Run it?"): Promise<void> {
  await screen.sees(question);
  await sleep(300);
}

describe("a tool call that needs an approval", () => {
  test("is shown with its diff, and runs after one key", async () => {
    const { url, ran } = await aClerk("one\nthree\n");
    const person = atTerminal(["chat", url]);

    person.type(`go${ENTER}`);
    await isAsked(person);
    expect(person.screen.text).toContain(
      [
        "┃ Write a.txt",
        "┃ It is replaced.",
        "┃",
        "┃ a.txt",
        "┃ 1   one",
        "┃ 2 - two",
        "┃ 2 + three",
      ].join("\n"),
    );
    expect(ran).toEqual([]);
    person.type("y");
    await person.screen.sees("Done.");

    expect(ran).toEqual(["one\nthree\n"]);
    expect(person.screen.text).toMatch(
      /✓ Approved: Write a\.txt\n✓ write\(path: "a\.txt", text: "one\\nthree\\n"\)\n {2}└ written\n\nDone\./,
    );
    expect(person.screen.text).toMatch(/ {2}Clerk · scripted · task \S+ · \d+ tokens$/);
    person.type(CTRL_D);
    expect((await person.ended).code).toBe(0);
  });

  test("is rejected by n, with a reason for the agent", async () => {
    const { url, ran, model } = await aClerk("three\n");
    const person = atTerminal(["chat", url]);

    person.type(`go${ENTER}`);
    await isAsked(person);
    person.type("n");
    await person.screen.sees("Why?");
    person.type(`too early${ENTER}`);
    await person.screen.sees("Done.");

    expect(ran).toEqual([]);
    expect(JSON.stringify(model.requests.at(-1)?.transcript)).toContain("too early");
    expect(person.screen.text).toContain("✗ Rejected: Write a.txt: too early");
  });

  test("is approved for the whole conversation by c, and not asked for again", async () => {
    const { url, ran } = await aClerk("three\n");
    const person = atTerminal(["chat", url]);

    person.type(`go${ENTER}`);
    await isAsked(person);
    person.type("c");
    await person.screen.sees("Done.");
    person.type(`go on${ENTER}`);
    await person.screen.sees("Done again.");

    expect(ran).toEqual(["three\n", "three\n"]);
  });

  test("is edited in the user's editor, which gets the new content of the file", async () => {
    const { url, ran } = await aClerk("one\nthree\n");
    const home = aHome();
    const editor = join(home, "editor.sh");
    writeFileSync(editor, `cp "$1" "${home}/given.txt"\nprintf 'four\\n' > "$1"\n`);
    const person = atTerminal(["chat", url], { env: { HOME: home, EDITOR: `sh ${editor}` } });

    person.type(`go${ENTER}`);
    await isAsked(person);
    person.type("e");
    await person.screen.sees("Done.");

    expect(readFileSync(join(home, "given.txt"), "utf8")).toBe("one\nthree\n");
    expect(ran).toEqual(["four\n"]);
  });

  test("is edited in place if there is no editor", async () => {
    const { url, ran } = await aClerk("three");
    const person = atTerminal(["chat", url]);

    person.type(`go${ENTER}`);
    await isAsked(person);
    person.type("e");
    await person.screen.sees("✎ three");
    person.type(` more${ENTER}`);
    await person.screen.sees("Done.");

    expect(ran).toEqual(["three more"]);
  });

  test("shows the rest of a long preview after v", async () => {
    const lines = Array.from({ length: 100 }, (_, place) => `line ${place}\n`).join("");
    const { url } = await aClerk(lines);
    const person = atTerminal(["chat", url], { rows: 20 });

    person.type(`go${ENTER}`);
    await isAsked(person);
    expect(person.screen.all).toContain("┃ … 43 more lines; press v to see them");
    expect(person.screen.all).not.toContain("+ line 99");
    person.type("v");

    await person.screen.sees("100 + line 99");
  });

  test("is decided one after the other if there are several", async () => {
    const { url, ran } = await aClerk("two\n", "three\n");
    const person = atTerminal(["chat", url]);

    person.type(`go${ENTER}`);
    await isAsked(person, "Run it? (1 of 2)");
    person.type("n");
    await person.screen.sees("Why?");
    person.type(ENTER);
    await isAsked(person, "Run it? (2 of 2)");
    person.type("y");
    await person.screen.sees("Done.");

    expect(ran).toEqual(["three\n"]);
  });

  test("that was withdrawn elsewhere is reported, and the chat continues with its task", async () => {
    const { url, ran } = await aClerk("three\n");
    const person = atTerminal(["chat", url]);

    person.type(`go${ENTER}`);
    await isAsked(person);
    const other = await connect(url);
    onTestFinished(() => other.close());
    const [task] = (await other.list()).tasks;
    await other.send("never mind", { taskId: task?.id });
    person.type("y");

    await person.screen.sees(/✗ The agent answered with an error: [^]*\n\nDone\.\n\n❯\n/);
    expect(ran).toEqual([]);
  });

  test("is not approved by a message that the user was typing", async () => {
    const { url, ran } = await aClerk("three\n");
    const person = atTerminal(["chat", url]);

    person.type(`go${ENTER}yellow`);
    await person.screen.sees("Your message withdraws the call.");
    person.type(" would be better");
    await person.screen.sees("❯ yellow would be better");
    person.type(ENTER);
    await person.screen.sees("Done.");

    expect(ran).toEqual([]);
  });
});

describe("a question", () => {
  test("is answered by the number of an option", async () => {
    const agent = defineAgent({
      name: "Shop",
      description: "d",
      run: async ({ ask }) => `Then it is ${await ask("Which size?", ["small", "large"])}.`,
    });
    const person = atTerminal(["chat", await served(agent)]);

    person.type(`buy${ENTER}`);
    await person.screen.sees(/\? Which size\?.*\n {2}1 {2}small\n {2}2 {2}large\n/);
    await person.screen.sees("Type a number or your own answer.");
    person.type(`2${ENTER}`);

    await person.screen.sees("Then it is large.");
  });

  test("that is sensitive shows no answer, and stores none", async () => {
    const agent = defineAgent({
      name: "Bank",
      description: "d",
      run: async ({ ask }) => `${(await ask("Password?", { sensitive: true })).length} characters.`,
    });
    const person = atTerminal(["chat", await served(agent)]);

    person.type(`log in${ENTER}`);
    await person.screen.sees("? Password?");
    person.type(`s3cret${ENTER}`);
    await person.screen.sees("6 characters.");
    person.type(CTRL_D);
    await person.ended;

    expect(person.screen.written).not.toContain("s3c");
    const history = join(person.home, ".local", "state", "convoke", "chat-history.jsonl");
    expect(readFileSync(history, "utf8")).toBe('"log in"\n');
  });
});

describe("the keyboard", () => {
  test("a paste of several lines is one message", async () => {
    const { url } = await serveDemo();
    const person = atTerminal(["chat", url]);

    person.type("\u001B[200~first\nsecond\n\u001B[201~third");
    await person.screen.sees("❯ first\n  second\n  third");
    person.type(ENTER);

    await person.screen.sees("You said: first\nsecond\nthird.");
  });

  test("Up recalls what was typed in an earlier chat", async () => {
    const { url } = await serveDemo();
    const first = atTerminal(["chat", url]);
    first.type(`an old message${ENTER}`);
    await first.screen.sees("You said:");
    first.type(CTRL_D);
    await first.ended;

    const second = atTerminal(["chat", url], { env: { HOME: first.home } });
    second.type(UP);

    await second.screen.sees("❯ an old message");
  });

  test("Tab completes commands, which are listed while they are typed", async () => {
    const { url } = await serveDemo();
    const person = atTerminal(["chat", url]);

    person.type("/h");
    await person.screen.sees("/help  show this help");
    person.type(`\t${ENTER}`);

    await person.screen.sees(/\/quit +leave; you can continue/);
  });

  test("Ctrl+C first clears what was typed, and Ctrl+L the screen", async () => {
    const { url } = await serveDemo();
    const person = atTerminal(["chat", url]);
    person.type(`hello${ENTER}`);
    await person.screen.sees("You said: hello.");

    person.type(`not sent${CTRL_L}`);
    await person.screen.sees(/^\s*❯ not sent\n/);
    person.type(CTRL_C);
    await person.screen.sees(/^\s*❯\n/);
    person.type(CTRL_C);

    expect((await person.ended).code).toBe(130);
  });

  test("messages that are typed ahead are sent after the answer", async () => {
    const { url } = await serveDemo();
    const person = atTerminal(["chat", url]);

    person.type(`slow 100${ENTER}`);
    await person.screen.sees("Working");
    person.type(`ahead${ENTER}`);
    await person.screen.sees("next: ahead");

    await person.screen.sees(/99 100\n\n❯ ahead\n\nYou said: ahead\./);
  });

  test("messages that are typed ahead of a question do not answer it", async () => {
    const typed = Promise.withResolvers<void>();
    const agent = defineAgent({
      name: "Slow",
      description: "d",
      run: async ({ ask }) => {
        await typed.promise;
        return `Hello, ${await ask("Name?")}!`;
      },
    });
    const person = atTerminal(["chat", await served(agent)]);

    person.type(`go${ENTER}`);
    await person.screen.sees("Working");
    person.type(`ahead${ENTER}`);
    await person.screen.sees("next: ahead");
    typed.resolve();
    await person.screen.sees(/\? Name\?\n\n❯ ahead\n/);
    person.type(` Ann${ENTER}`);

    await person.screen.sees("Hello, ahead Ann!");
  });
});

describe("an agent that does not answer", () => {
  const working = { task: { id: "t1", contextId: "c1", status: { state: "TASK_STATE_WORKING" } } };
  const completed = {
    statusUpdate: {
      taskId: "t1",
      contextId: "c1",
      status: {
        state: "TASK_STATE_COMPLETED",
        message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "I am back." }] },
      },
    },
  };

  test("is canceled by Ctrl+C, which says so at once, and left by a second one", async () => {
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: (call: Call) =>
        call.method === "CancelTask" ? { end: "never" } : events(call, [working], "never"),
    });
    const person = atTerminal(["chat", agent.url]);

    person.type(`go${ENTER}`);
    await person.screen.sees("task t1");
    person.type(CTRL_C);
    await person.screen.sees("Canceling, press Ctrl+C again to leave");
    person.type(CTRL_C);

    const { code, stderr } = await person.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(/^Continue with: convoke chat \S+ --context c1/);
  });

  test("is reconnected to, and the user sees that", async () => {
    let isBack = false;
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: (call: Call) =>
        isBack ? events(call, [working, completed]) : events(call, [working], "broken"),
    });
    const person = atTerminal(["chat", agent.url]);

    person.type(`go${ENTER}`);
    await person.screen.sees("Reconnecting…");
    isBack = true;
    await person.screen.sees("I am back.");

    expect(person.screen.text).not.toContain("Reconnecting");
  });
});

test("nothing that an agent sends controls the terminal", async () => {
  const evil = "\u001B[2J\u001B]0;owned\u0007\u009B31m\u202Eevil\r\n\u001B[1A";
  const activity = "https://convoke.dev/extensions/tool-activity/v1";
  const status = (state: string, parts: readonly object[]) => ({
    statusUpdate: {
      taskId: "t1",
      contextId: "c1",
      status: { state, message: { messageId: "m", role: "ROLE_AGENT", parts } },
    },
  });
  const marked = (type: string, data: object) => ({ data, metadata: { [activity]: { type } } });
  const agent = await startFakeAgent({
    pages: pagesV1({ name: `Evil ${evil}` }),
    answer: (call: Call) =>
      events(call, [
        { task: { id: `t1`, contextId: "c1", status: { state: "TASK_STATE_WORKING" } } },
        status("TASK_STATE_WORKING", [{ text: evil }]),
        status("TASK_STATE_WORKING", [
          marked("tool-use", { toolUseId: "1", name: evil, input: { [evil]: evil } }),
        ]),
        status("TASK_STATE_WORKING", [
          marked("tool-result", { toolUseId: "1", name: evil, result: evil }),
        ]),
        {
          artifactUpdate: {
            taskId: "t1",
            contextId: "c1",
            artifact: { artifactId: evil, parts: [{ text: `\`${evil}\`\n\n# ${evil}` }] },
          },
        },
        status("TASK_STATE_INPUT_REQUIRED", [{ text: evil }, { data: { options: [evil] } }]),
      ]),
  });
  const person = atTerminal(["chat", agent.url], { env: { NO_COLOR: "" } });

  person.type(`go${ENTER}`);
  await person.screen.sees("Type a number");
  person.type(CTRL_D);
  await person.ended;

  const [, ...sequences] = person.screen.written.split("\u001B[");
  const own = /^(?:\?\d+[hl]|\d*[ACHJK]|[\d;]*m)/;
  expect(sequences.filter((sequence) => !own.test(sequence))).toEqual([]);
  expect(sequences.join("").replaceAll(/[\r\n]/g, "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(person.screen.written).not.toContain("\u001B[2J");
  expect(person.screen.all.match(/evil/g)?.length).toBeGreaterThan(6);
});

test("the screen is painted again at the new width when the window is resized", async () => {
  const { url } = await serveDemo();
  const person = atTerminal(["chat", url], { columns: 100 });
  person.type(`hello${ENTER}`);
  await person.screen.sees("You said: hello. Try: slow 50, ask, artifact");
  await person.screen.sees(/❯\n {2}Convoke Demo/);

  person.screen.resize(30, 20);

  expect(person.screen.text).toContain(
    "You said: hello. Try: slow 50,\nask, artifact, message, fail,",
  );
  expect(person.screen.text).toMatch(/❯\n {2}Convoke Demo/);
});

test("NO_COLOR turns off colours and all other styles", async () => {
  const { url } = await serveDemo();

  for (const [env, isStyled] of [
    [{ NO_COLOR: "1" }, false],
    [{ NO_COLOR: "" }, true],
  ] as const) {
    const person = atTerminal(["chat", url], { env });
    await person.screen.sees("Type /help for help.");
    expect(person.screen.written.includes("\u001B[2mType /help for help.")).toBe(isStyled);
    expect(person.screen.written.includes("\u001B[1mConvoke Demo ")).toBe(isStyled);
  }
});

test("Escape at the prompt changes nothing", async () => {
  const { url } = await serveDemo();
  const person = atTerminal(["chat", url]);

  person.type("kept");
  person.type(ESCAPE);
  await sleep(100);
  person.type(`!${ENTER}`);

  await person.screen.sees("You said: kept!.");
});
