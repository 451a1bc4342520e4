import { setTimeout as sleep } from "node:timers/promises";
import { createJsonLogger } from "@convoke/engine";
import { scriptedModel } from "@convoke/runtime/testing";
import { defineAgent, serve, tool } from "convoke";
import { expect, onTestFinished, test } from "vitest";
import { needs } from "../needs.ts";
import { serveShop } from "./serve-shop.ts";
import { TmuxTerminal } from "./tmux-terminal.ts";

const tmux = needs("tmux");

const ESC = "\u001B";

/** An agent that wants to change a file. */
async function serveClerk(): Promise<string> {
  const data = { path: "notes.txt", before: "one\ntwo\nthree\n", after: "one\n2\nthree\n" };
  const write = tool({
    name: "write",
    description: "Writes a file.",
    inputSchema: { type: "object", properties: { path: { type: "string" } } },
    confirm: () => ({ title: "Write notes.txt", preview: [{ kind: "data", data }] }),
    run: () => "written",
  });
  const call = { kind: "tool-call", toolName: "write", input: { path: "notes.txt" } } as const;
  const text = "I will change **one** line:";
  const model = scriptedModel([[{ kind: "text", text }, call], "The file has changed."]);
  const agent = defineAgent({ name: "Clerk", description: "d", model, tools: [write] });
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(agent, { port: 0, data: "memory", logger });
  onTestFinished(() => server.close());
  return server.url;
}

test("a tool call is approved by one key, below a diff in colour that survives a resize", async () => {
  const person = new TmuxTerminal(["chat", await serveClerk()], { tmux: tmux() });

  await person.sees(/❯\n {2}Clerk$/);
  person.type("please");
  person.press("Enter");
  await person.sees(/Run it\? {2}y yes/);
  const coloured = person.screen(true);
  expect(coloured).toMatch(new RegExp(String.raw`${ESC}\[31m[^\n]*- two`));
  expect(coloured).toMatch(new RegExp(String.raw`${ESC}\[32m[^\n]*\+ 2`));
  person.resize(40, 24);
  await person.sees(/a always\nn no {2}e edit/);
  expect(person.screen()).toContain(
    ["I will change one line:", "", "┃ Write notes.txt"].join("\n"),
  );
  await sleep(300);
  person.press("y");
  await person.sees(/✓ write\(path: "notes\.txt"\)\n {2}└ written\n\nThe file has changed\./);
  person.press("C-d");

  await person.sees(/exit code 0/);
});

test("Ctrl+C cancels the task, the next one leaves, and the terminal is as it was", async () => {
  const { url, states } = await serveShop();
  const person = new TmuxTerminal(["chat", url], { tmux: tmux() });

  await person.sees(/❯\n {2}Shop$/);
  person.type("pack");
  person.press("Enter");
  await person.sees(/box 5, [^]*Working/);
  person.press("C-c");
  await person.sees(/✗ canceled\n\n❯\n/);
  expect(await states()).toEqual(["canceled"]);
  person.press("C-c");
  await person.sees(/Continue with: [^]*exit code 130/);
  person.type("echoed");

  await person.sees(/exit code 130\nechoed$/);
});

test("a paste of several lines is one message", async () => {
  const { url, states } = await serveShop();
  const person = new TmuxTerminal(["chat", url], { tmux: tmux() });

  await person.sees(/❯\n {2}Shop$/);
  person.paste("first\nsecond 行\n");
  await person.sees(/❯ first\n {2}second 行\n\n {2}Shop$/);
  person.press("Enter");

  await person.sees(/You said: first\nsecond 行\n/);
  expect(await states()).toEqual(["completed"]);
});
