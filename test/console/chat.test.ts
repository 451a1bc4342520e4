import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type AgentEvent, type Task, applyEvent, textOf } from "@convoke/protocol";
import { type AgentServer, serve } from "convoke";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { WAIT, WITHIN_MS } from "../browser/chromium.ts";
import { keptPort } from "../harness/kept-port.ts";
import { type Program, start } from "../harness/program.ts";
import { clerk, passwords, villain, writer } from "./agents.suite.ts";
import { needsBrowser, ready } from "./visitor.ts";

const CONVOKE = fileURLToPath(new URL("../../apps/convoke/bin/convoke.js", import.meta.url));

const visit = needsBrowser();
let server: AgentServer;

beforeAll(async () => {
  server = await serve([clerk, villain, writer], { port: 0, data: "memory" });
});

afterAll(() => server.close());

describe("the chat of the console", { timeout: WITHIN_MS }, () => {
  test("answers the first message, with the files that the agent makes beside it", async () => {
    const { page, complaints } = await visit(`${server.url}console/chat/clerk`);
    await ready(page);

    await page.getByRole("button", { name: "Attach files" }).waitFor();
    await page.locator("input[type=file]").setInputFiles({
      name: "letter.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("hello"),
    });
    await say(page, "files");
    await page.getByRole("button", { name: /sales.csv/ }).click();

    await expect.poll(() => answer(page), WAIT).toBe("Three files.");
    expect(await page.locator("[data-role=user]").innerText()).toContain("letter.txt");
    expect(await page.locator(".artifact-panel td").allInnerTexts()).toEqual([
      "Rome",
      "3",
      "Oslo",
      "12",
    ]);
    // The conversation has an address, at which it is found again.
    await page.reload();
    await expect.poll(() => answer(page), WAIT).toBe("Three files.");
    expect(complaints).toEqual([]);
  });

  test("continues before your eyes when the server is killed in the middle of an answer", async () => {
    const demo = await demoServer();
    const { page } = await visit(`${demo.url}console/chat`);
    await ready(page);
    // Long enough that the server is killed in the middle of it, on a busy machine, too.
    await say(page, "slow 300");
    await expect.poll(() => answer(page), WAIT).toContain("20 ");
    let seen = await answer(page);

    await demo.restart(() => page.getByText("Connection lost, resuming…").waitFor(WAIT));
    await page.getByText("Resumed").waitFor(WAIT);
    const whole = Array.from({ length: 300 }, (_, index) => index + 1).join(" ");
    // The text only grows, and whatever is seen on the way is a beginning of the answer.
    while (seen !== whole) {
      const next = await answer(page);
      expect(next.startsWith(seen)).toBe(true);
      expect(whole.startsWith(next)).toBe(true);
      seen = next;
    }

    await expect.poll(() => page.locator("[data-running=false]").count(), WAIT).toBe(1);
    expect(await answer(page)).toBe(whole);
    expect(await loggedText(demo.url)).toBe(whole);
  });

  test("asks in the form that fits the answer", async () => {
    const { page, complaints } = await visit(`${server.url}console/chat/clerk`, { width: 390 });
    await ready(page);
    await say(page, "colour");
    await page.getByRole("button", { name: "green" }).click();
    await expect.poll(() => answer(page), WAIT).toBe("You like green.");

    await say(page, "order");
    await page.getByRole("button", { name: "Answer" }).click();
    expect(await page.locator("[data-field=count]").innerText()).toContain("Fill in this field.");
    await page.getByLabel("How many").fill("3");
    await page.getByLabel("size").selectOption("large");
    await page.getByRole("button", { name: "Answer" }).click();

    await expect.poll(() => answer(page), WAIT).toBe('{"count":3,"size":"large"}');
    expect(complaints).toEqual([]);
  });

  test("lets the agent use a tool of the page, once it is switched on and allowed, in any protocol", async () => {
    const { page, complaints } = await visit(`${server.url}console/chat/writer`);
    await ready(page);
    await page.locator(".chat-settings summary").click();
    await page.getByLabel("Protocol").selectOption("A2A 0.3, REST");
    await page.getByLabel("Let the agent use tools of this page").check();
    const summary = page.locator(".chat-settings summary");
    await expect.poll(() => summary.innerText(), WAIT).toBe("A2A 0.3, REST");
    await summary.click();
    await say(page, "pick_file");
    await page.getByLabel("File for the agent").setInputFiles({
      name: "picked.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("from the visitor"),
    });

    await expect.poll(() => answer(page), WAIT).toContain("from the visitor");
    expect(complaints).toEqual([]);
  });

  test("keeps a secret answer nowhere", async () => {
    const { page, complaints } = await visit(`${server.url}console/chat/clerk`);
    await ready(page);
    await say(page, "secret");
    const field = page.locator("input[type=password][autocomplete=off]");
    await field.waitFor(WAIT);
    // Elsewhere it would be shown.
    expect(await page.getByLabel("Message", { exact: true }).count()).toBe(0);
    await field.fill("hunter2-of-Ann");
    await field.press("Enter");
    await expect.poll(() => answer(page), WAIT).toBe("Thank you for the password.");

    expect(passwords).toEqual(["hunter2-of-Ann"]);
    expect(await page.content()).not.toContain("hunter2");
    expect(JSON.stringify(await page.context().storageState())).not.toContain("hunter2");
    const tasks = await fetch(`${server.url}convoke/tasks?agent=*`).then((got) => got.text());
    const logs = await Promise.all(
      [...tasks.matchAll(/"id":"([^"]+)"/g)].map(([, id]) =>
        fetch(`${server.url}convoke/tasks/${id}/log`).then((got) => got.text()),
      ),
    );
    expect(tasks + logs.join("")).not.toContain("hunter2");
    expect(complaints).toEqual([]);
  });

  test("shows what a hostile agent writes, and runs and loads nothing of it", async () => {
    const villainId = await villainsId();
    const { page, complaints } = await visit(`${server.url}console/chat/${villainId}`);
    await ready(page);

    await say(page, "html");
    await expect.poll(() => answer(page), WAIT).toContain("<script>");
    await say(page, "links");
    await expect.poll(() => page.locator("a[href^='https://evil.example']").count(), WAIT).toBe(1);
    expect(await page.locator("a[href^=javascript], a[href^=data]").count()).toBe(0);
    const link = page.locator("a[href^='https://evil.example']");
    expect(await link.innerText()).toContain("evil.example");
    expect(await link.getAttribute("rel")).toBe("noopener noreferrer");
    await say(page, "image");
    await page.getByText("image: pixel").waitFor(WAIT);
    await say(page, "bidi");
    await expect.poll(() => answer(page), WAIT).toContain("invoice202Efdp.exe and 001B[31mred");
    await say(page, "files");
    for (const button of await page.locator(".artifact-button").all()) {
      await button.click();
      await page.locator(".artifact-panel .code-block").waitFor(WAIT);
      await page.getByRole("button", { name: "Close" }).click();
    }
    await say(page, "ask");
    await page.getByRole("button", { name: "b", exact: true }).click();
    await expect.poll(() => page.locator(".turn[data-task-state=completed]").count(), WAIT).toBe(6);

    expect(await page.locator(".content img, .content script, .content iframe").count()).toBe(0);
    expect(await page.evaluate("globalThis.wasRun")).toBeUndefined();
    expect(complaints).toEqual([]);
  });

  test("answers keys after 5,000 nested quotes and ten megabytes in one part", async () => {
    const { page, complaints } = await visit(`${server.url}console/chat/${await villainsId()}`);
    await ready(page);
    await say(page, "quotes");
    await expect.poll(() => page.locator(".turn[data-task-state=completed]").count(), WAIT).toBe(1);
    await say(page, "huge");
    await page.getByText("The text goes on for").waitFor(WAIT);
    await page.getByLabel("Message", { exact: true }).pressSequentially("still here");

    expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("still here");
    expect(complaints).toEqual([]);
  });
});

async function say(page: Page, text: string): Promise<void> {
  const field = page.getByLabel("Message", { exact: true });
  await field.fill(text);
  await expect
    .poll(() => page.getByRole("button", { name: "Send" }).first().isEnabled(), WAIT)
    .toBe(true);
  await field.press("Enter");
}

/** The text of the newest answer. */
async function answer(page: Page): Promise<string> {
  const answers = await page.locator(".answer").allInnerTexts();
  return answers.at(-1)?.trim() ?? "";
}

async function villainsId(): Promise<string> {
  const about = (await fetch(`${server.url}convoke/about`).then((got) => got.json())) as {
    readonly agents: readonly { readonly id: string }[];
  };
  return about.agents[1]!.id;
}

/** The text of the newest task, as the events of its log make it. */
async function loggedText(url: string): Promise<string> {
  const read = async (path: string): Promise<unknown> => (await fetch(url + path)).json();
  const { tasks } = (await read("convoke/tasks")) as { tasks: readonly { id: string }[] };
  const { events } = (await read(`convoke/tasks/${tasks[0]!.id}/log?limit=1000`)) as {
    events: readonly { event: AgentEvent }[];
  };
  const task = events.reduce<Task | undefined>((so, { event }) => applyEvent(so, event), undefined);
  return textOf(task!);
}

/** `convoke serve` at an address of its own, which can be killed and started again. */
async function demoServer(): Promise<{
  readonly url: string;
  readonly restart: (meanwhile: () => Promise<unknown>) => Promise<void>;
}> {
  const port = await keptPort();
  const data = mkdtempSync(join(tmpdir(), "convoke-console-"));
  const run = async (): Promise<Program> => {
    const started = start(process.execPath, [CONVOKE, "serve", "--data", data], {
      cwd: data,
      env: { PORT: String(port) },
    });
    await started.until((stdout) => /^Look at +(\S+)/m.exec(stdout)?.[1]);
    return started;
  };
  let program = await run();
  onTestFinished(async () => {
    await program.kill("SIGKILL");
    rmSync(data, { recursive: true, force: true });
  });
  return {
    url: `http://127.0.0.1:${port}/`,
    restart: async (meanwhile) => {
      await program.kill("SIGKILL");
      await meanwhile();
      program = await run();
    },
  };
}
