import { type Browser, type Page, chromium } from "playwright-core";
import { afterAll, beforeEach, describe, expect } from "vitest";
import { startExample } from "../embedding/example.ts";
import { needs } from "../needs.ts";
import { verifies } from "../verifies.ts";

/** A browser on a slow machine, which loads some hundred modules. */
const PATIENCE_MS = 60_000;
const WAIT = { timeout: 20_000 };

const FLAGS = [
  "--no-sandbox",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  "--disable-gpu",
];

describe("a page whose agent uses it", { timeout: PATIENCE_MS }, () => {
  const program = needs("chromium");
  let browser: Browser | undefined;
  let page: Page;

  beforeEach(async ({ onTestFinished }) => {
    browser ??= await chromium.launch({ executablePath: program(), args: FLAGS });
    page = await browser.newPage({ viewport: { width: 900, height: 700 } });
    onTestFinished(() => page.close());
    const { url } = await startExample("browser-tool/server.ts");
    await page.goto(url, { waitUntil: "networkidle" });
  }, PATIENCE_MS);

  afterAll(() => browser?.close());

  verifies(["R53", "R55", "R58"], "runs the tools that it declared, or says why not", async () => {
    await say("read_selection");
    expect(await page.innerText("#answer")).toContain("Nothing is selected yet");

    await page.evaluate(() => {
      const words = document.querySelector("#story")!.firstChild!;
      const from = words.textContent!.indexOf("The agent lives");
      document.getSelection()!.setBaseAndExtent(words, from, words, from + "The agent".length);
    });
    await say('read_selection and then highlight(colour="pink")');

    const answer = await page.innerText("#answer");
    expect(answer).toContain('`read_selection` gave: {"words":"The agent"}');
    expect(answer).toContain('`highlight` gave: {"marked":"The agent"}');
    expect(await page.innerText("#story mark")).toBe("The agent");
    expect(await page.locator("#calls li").allInnerTexts()).toEqual([
      "read_selection({})",
      'highlight({"colour":"pink"})',
    ]);
  });

  async function say(words: string): Promise<void> {
    await page.fill("#text", words);
    await page.click("#send");
    await expect.poll(() => page.innerText("#state"), WAIT).toBe("completed");
  }
});
