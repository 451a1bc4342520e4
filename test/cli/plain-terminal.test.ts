import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { needs } from "../needs.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { serveShop } from "./serve-shop.ts";
import { Typist } from "./typist.ts";

const script = needs("script");

const CTRL_C = "\u0003";
const ENTER = "\r";

test("a dumb terminal gets no control sequences, and Ctrl+C works as elsewhere", async () => {
  const { url, states } = await serveShop();
  const person = new Typist(["chat", url], {
    terminal: script(),
    cwd: temporaryFolder(),
    env: { TERM: "dumb" },
  });

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
