import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { needs } from "../needs.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { serveShop } from "./serve-shop.ts";
import { Typist } from "./typist.ts";

const script = needs("script");

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const ENTER = "\r";
const UP = "\u001B[A";

/** A chat at a terminal. By default without colours, to keep the output readable. */
function chat(url: string, env: Readonly<Record<string, string>> = { NO_COLOR: "1" }): Typist {
  return new Typist(["chat", url], { terminal: script(), cwd: temporaryFolder(), env });
}

describe("at a terminal", () => {
  test("a person chats, chooses by number, and sees how to continue", async () => {
    const { url, states } = await serveShop();
    const person = chat(url);

    await person.sees(/Shop \(A2A 1\.0 over JSONRPC/);
    await person.sees(/> /);
    person.type(`hello${ENTER}`);
    await person.sees(/You said: hello\r\n[^\n]*> /);
    person.type(`buy${ENTER}`);
    await person.sees(/Which size\?\r\n {2}1 {2}small\r\n {2}2 {2}large\r\n[^\n]*\n[^\n]*\? /);
    person.type(`2${ENTER}`);
    await person.sees(/Then it is large\.\r\n[^\n]*> /);
    person.type(CTRL_D);

    const { code, stdout } = await person.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/Continue with: node \S+convoke\.js chat \S+ --context \S+\r\n$/);
    expect(await states()).toEqual(["completed", "completed"]);
  });

  test("Ctrl+C cancels the current task, and the conversation continues", async () => {
    const { url, states } = await serveShop();
    const person = chat(url);

    await person.sees(/> /);
    person.type(`pack${ENTER}`);
    await person.sees(/box 5, /);
    person.type(CTRL_C);
    await person.sees(/Canceling\. Press Ctrl\+C again to leave\.\r\n/);
    await person.sees(/canceled\r\n[^\n]*> /);
    person.type(`hello${ENTER}`);
    await person.sees(/You said: hello\r\n/);
    person.type(CTRL_C);

    expect((await person.ended).code).toBe(130);
    expect((await states()).toSorted()).toEqual(["canceled", "completed"]);
  });

  test("a second Ctrl+C exits immediately", async () => {
    const { url, states } = await serveShop();
    const person = chat(url);

    await person.sees(/> /);
    person.type(`pack${ENTER}`);
    await person.sees(/box 5, /);
    person.type(`${CTRL_C}${CTRL_C}`);

    const { code, stdout } = await person.ended;
    expect(code).toBe(130);
    expect(stdout).toMatch(/Continue with: node \S+convoke\.js chat \S+ --context \S+/);
    await vi.waitUntil(async () => (await states())[0] === "canceled", { timeout: 10_000 });
  });

  test("Ctrl+C at a pending question leaves it pending, and prints the command that answers it", async () => {
    const { url, states } = await serveShop();
    const person = chat(url);

    await person.sees(/> /);
    person.type(`buy${ENTER}`);
    await person.sees(/2 {2}large/);
    await person.sees(/\? /);
    person.type(CTRL_C);

    const { code, stdout } = await person.ended;
    expect(code).toBe(130);
    expect(stdout).toMatch(/--context \S+ --task \S+/);
    expect(await states()).toEqual(["input-required"]);
  });

  test("input that is typed while the agent responds is kept for the prompt", async () => {
    const { url } = await serveShop();
    const person = chat(url);

    await person.sees(/> /);
    person.type(`pack${ENTER}`);
    await person.sees(/box 5, /);
    person.type(`ahead${ENTER}half`);
    await person.sees(/box 15, /);
    person.type(CTRL_C);
    await person.sees(/canceled\r\n/);
    await person.sees(/^> ahead\r\nYou said: ahead\r\n/m);
    await person.sees(/> half/);
    person.type(` a word${ENTER}`);
    await person.sees(/You said: half a word\r\n/);
    person.type(CTRL_D);

    const { stdout } = await person.ended;
    expect(stdout.slice(stdout.indexOf("box 5"), stdout.indexOf("Canceling"))).not.toMatch(
      /ahead|half/,
    );
  });

  test("the up arrow goes back in history", async () => {
    const { url } = await serveShop();
    const person = chat(url);

    await person.sees(/> /);
    person.type(`hello${ENTER}`);
    await person.sees(/You said: hello\r\n[^\n]*> /);
    person.type(UP);
    await person.sees(/hello/);
    person.type(` again${ENTER}`);
    await person.sees(/You said: hello again\r\n/);
    person.type(CTRL_D);

    expect((await person.ended).code).toBe(0);
  });

  test("an agent cannot control the terminal", async () => {
    const { url } = await serveShop();
    const person = chat(url);

    await person.sees(/> /);
    person.type(`shout${ENTER}`);
    await person.sees(/^\[2J\]0;ownedloud\r\n/m);
    person.type(`pack${ENTER}`);
    await person.sees(/^packing \[31mboxes\r\n/m);
    person.type(`${CTRL_C}${CTRL_C}`);

    const { stdout } = await person.ended;
    expect(stdout).not.toContain("\u001B[2J");
    expect(stdout).not.toContain("\u001B[31m");
    expect(stdout).not.toContain("\u0007");
  });

  test("colours are used, except with NO_COLOR", async () => {
    const { url } = await serveShop();
    const dim = "\u001B[2mType /help for help.";

    for (const [env, isColoured] of [
      [{}, true],
      [{ NO_COLOR: "1" }, false],
    ] as const) {
      const person = chat(url, env);
      await person.sees(/> /);
      person.type(CTRL_D);
      expect((await person.ended).stdout.includes(dim)).toBe(isColoured);
    }
  });
});

test("a dumb terminal gets no control sequences, and Ctrl+C works as elsewhere", async () => {
  const { url, states } = await serveShop();
  const person = chat(url, { TERM: "dumb" });

  await person.sees(/> /);
  person.type("hello\n");
  await person.sees(/You said: hello\r\n> /);
  person.type("pack\n");
  await person.sees(/box 5, /);
  person.type(CTRL_C);
  await person.sees(/canceled\r\n> /);
  person.type(CTRL_C);

  const { code, stdout } = await person.ended;
  expect(code).toBe(130);
  expect(stdout).not.toContain("\u001B");
  expect((await states()).toSorted()).toEqual(["canceled", "completed"]);
});

test("a token is typed without echo", async () => {
  const cwd = temporaryFolder();
  const person = new Typist(["login", "https://agent.example"], { terminal: script(), cwd });

  await person.sees(/Token: /);
  person.type(`s3cret${ENTER}`);

  const { code, stdout } = await person.ended;
  expect(code).toBe(0);
  expect(stdout).not.toContain("s3cret");
  expect(stdout).toContain("Stored the token for https://agent.example in");
  const file = join(cwd, ".config", "convoke", "credentials.json");
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
    origins: { "https://agent.example": { token: "s3cret" } },
  });
});

test("Ctrl+C instead of a token is exit code 130", async () => {
  const person = new Typist(["login", "https://agent.example"], {
    terminal: script(),
    cwd: temporaryFolder(),
  });

  await person.sees(/Token: /);
  person.type(CTRL_C);

  expect((await person.ended).code).toBe(130);
});
