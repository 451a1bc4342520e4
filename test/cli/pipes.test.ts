import { expect, test } from "vitest";
import { run } from "../harness/program.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { serveShop } from "./serve-shop.ts";
import { BIN, Typist } from "./typist.ts";

const chat = (url: string): Typist => new Typist(["chat", url], { cwd: temporaryFolder() });

test("SIGINT cancels the current task, and the next line is answered", async () => {
  const { url, states } = await serveShop();
  const caller = chat(url);

  caller.type("pack\n");
  await caller.sees(/box 5, /);
  caller.signal("SIGINT");
  await caller.sees(/\n/);
  caller.type("hello\n");
  await caller.sees(/^You said: hello\n/m);
  caller.type("/quit\n");

  const { code, stderr } = await caller.ended;
  expect(code).toBe(1);
  expect(stderr).toContain("Canceling. Press Ctrl+C again to leave.\ncanceled\n");
  expect((await states()).toSorted()).toEqual(["canceled", "completed"]);
});

test("SIGINT without a current task exits, even if the pipe stays open", async () => {
  const { url } = await serveShop();
  const caller = chat(url);

  caller.type("hello\n");
  await caller.sees(/You said: hello\n/);
  caller.signal("SIGINT");

  expect((await caller.ended).code).toBe(130);
});

test("SIGTERM exits in the middle of an answer, and the task continues", async () => {
  const { url, states } = await serveShop();
  const caller = chat(url);

  caller.type("pack\n");
  await caller.sees(/box 5, /);
  caller.signal("SIGTERM");

  expect((await caller.ended).code).toBe(130);
  expect(await states()).toEqual(["working"]);
});

test("piped text is sent, and only the answer is in the output", async () => {
  const { url } = await serveShop();
  const command = `echo hello | "${process.execPath}" "${BIN}" send ${url}`;

  const { code, stdout, stderr } = await run("sh", ["-c", command], { cwd: temporaryFolder() });

  expect({ code, stdout }).toEqual({ code: 0, stdout: "You said: hello\n" });
  expect(stderr).toMatch(/^task \S+ completed\n$/);
});

test("a reader that closes the pipe ends the command without an error", async () => {
  const { url } = await serveShop();
  const command = `"${process.execPath}" "${BIN}" stream ${url} pack | head -c 10`;

  const { code, stdout, stderr } = await run("sh", ["-c", command], { cwd: temporaryFolder() });

  expect({ code, stdout }).toEqual({ code: 0, stdout: "box 1, box" });
  expect(stderr).not.toMatch(/EPIPE|Error/);
});
