import { type AgentServer, connect, serve } from "convoke";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { WAIT, WITHIN_MS } from "../browser/chromium.ts";
import { writer, written } from "./agents.suite.ts";
import { needsBrowser, ready } from "./visitor.ts";

const visit = needsBrowser();
let server: AgentServer;

beforeAll(async () => {
  server = await serve(writer, { port: 0, data: "memory" });
});

beforeEach(() => void written.splice(0));

afterAll(() => server.close());

describe("an approval in the console", { timeout: WITHIN_MS }, () => {
  test("shows its title, its risk and what changes, and one of two tabs decides it", async () => {
    const first = await visit(`${server.url}console/approvals`);
    const second = await visit(`${server.url}console/approvals`);
    await Promise.all([ready(first.page), ready(second.page)]);
    const taskId = await askToWrite("race.txt");
    const cards = [first.page, second.page].map((page) => page.locator("article.approval"));
    await Promise.all(cards.map((card) => card.waitFor(WAIT)));

    expect(await cards[0]!.locator("h3").innerText()).toBe("Write race.txt");
    expect(await cards[0]!.innerText()).toContain("Some risk");
    expect(await cards[0]!.locator("[data-kind=removed]").innerText()).toContain("the old line");
    expect(await cards[0]!.locator("[data-kind=added]").innerText()).toContain("the new line");
    expect(await first.page.title()).toBe("(1) Approvals · Convoke");
    expect(await first.page.locator(".waiting-count").innerText()).toContain("1");
    const buttons = await Promise.all(
      cards.map((card) => card.locator("[data-option=once]").elementHandle()),
    );
    // Not by the mouse: it would wait for a button that the other tab may have removed.
    await Promise.all(
      buttons.map((button) => button!.evaluate((one) => (one as HTMLElement).click())),
    );

    await ended(taskId);
    await Promise.all(cards.map((card) => card.waitFor({ ...WAIT, state: "detached" })));
    const lines = await Promise.all(
      [first.page, second.page].map((page) => page.locator("[data-decided]").innerText()),
    );
    // The one that was later hears who decided.
    expect(lines.toSorted()).toEqual([
      expect.stringContaining("Approved by anonymous"),
      expect.stringContaining("Approved by you"),
    ]);
    expect(written).toEqual([{ path: "race.txt", text: "the new line" }]);
    expect([...first.complaints, ...second.complaints]).toEqual([]);
  });

  test("is decided by keys, unless they are switched off, and a rejection tells the agent why", async () => {
    const older = await askToWrite("older.txt");
    const newer = await askToWrite("newer.txt");
    const { page, complaints } = await visit(`${server.url}console/approvals`);
    await ready(page);
    await expect.poll(() => titles(page), WAIT).toEqual(["Write newer.txt", "Write older.txt"]);

    await page.getByRole("checkbox", { name: /Keys/ }).uncheck();
    await page.keyboard.press("a");
    expect(await titles(page)).toEqual(["Write newer.txt", "Write older.txt"]);
    await page.getByRole("checkbox", { name: /Keys/ }).check();
    await page.locator("h1").click();
    await page.keyboard.press("j");
    await page.keyboard.press("r");
    await page.keyboard.type("a word too many");
    await page.keyboard.press("Enter");
    await expect.poll(() => titles(page), WAIT).toEqual(["Write newer.txt"]);
    await page.locator("h1").click();
    await page.keyboard.press("a");

    await Promise.all([ended(older), ended(newer)]);
    await page.getByText("Nothing waits for a decision").waitFor(WAIT);
    expect(written).toEqual([{ path: "newer.txt", text: "the new line" }]);
    expect(await logOf(older)).toContain("a word too many");
    expect(complaints).toEqual([]);
  });

  test("runs with edited arguments, decided in the chat on a phone", async () => {
    const taskId = await askToWrite("phone.txt");
    const { contextId } = await (await connect(server.url)).get(taskId);
    const { page, complaints } = await visit(`${server.url}console/chat/-/${contextId}`, {
      width: 360,
      height: 740,
    });
    await ready(page);
    await page.locator("[data-option=edit]").click();
    await page.locator("[data-field=text] .input").fill("an edited line");
    await page.getByRole("button", { name: "Run with these arguments" }).click();

    await ended(taskId);
    await page.getByText("Approved with edited arguments by anonymous").waitFor(WAIT);
    expect(written).toEqual([{ path: "phone.txt", text: "an edited line" }]);
    const width = await page.evaluate("document.documentElement.scrollWidth");
    expect(width).toBeLessThanOrEqual(360);
    expect(complaints).toEqual([]);
  });
});

/** Lets the agent ask for an approval, and resolves with the id of its task. */
async function askToWrite(path: string): Promise<string> {
  const agent = await connect(server.url);
  const { task } = await agent.send(`write_file(path="${path}", text="the new line")`);
  expect(task?.status.state).toBe("input-required");
  return task!.id;
}

async function ended(taskId: string): Promise<void> {
  const agent = await connect(server.url);
  await expect.poll(async () => (await agent.get(taskId)).status.state, WAIT).toBe("completed");
}

async function logOf(taskId: string): Promise<string> {
  return (await fetch(`${server.url}convoke/tasks/${taskId}/log`)).text();
}

function titles(page: Page): Promise<readonly string[]> {
  return page.locator("article.approval h3").allInnerTexts();
}
