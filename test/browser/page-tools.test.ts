import type { Browser, Page } from "playwright-core";
import { afterAll, beforeEach, describe, expect } from "vitest";
import { startExample } from "../embedding/example.ts";
import { needs } from "../needs.ts";
import { WITHIN_MS, WAIT, launchChromium } from "./chromium.ts";
import { verifies } from "../verifies.ts";

describe("a page whose agent uses it", { timeout: WITHIN_MS }, () => {
  const program = needs("chromium");
  let browser: Browser | undefined;
  let page: Page;

  beforeEach(async ({ onTestFinished }) => {
    browser ??= await launchChromium(program());
    page = await browser.newPage({ viewport: { width: 900, height: 700 } });
    onTestFinished(() => page.close());
    const { url } = await startExample("browser-tool/server.ts");
    await page.goto(url, { waitUntil: "networkidle" });
  }, WITHIN_MS);

  afterAll(() => browser?.close());

  verifies(
    ["R53", "R55", "R58"],
    "runs the tools that it declared, or reports why not",
    async () => {
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
    },
  );

  async function say(words: string): Promise<void> {
    await page.fill("#text", words);
    await page.click("#send");
    await expect.poll(() => page.innerText("#state"), WAIT).toBe("completed");
  }
});
