import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateCardKey, signCard } from "@convoke/protocol";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { startExample } from "../embedding/example.ts";
import { needs } from "../needs.ts";
import { WITHIN_MS, WAIT, launchChromium } from "./chromium.ts";

describe("a page in a browser", { timeout: WITHIN_MS }, () => {
  const program = needs("chromium");
  let browser: Browser | undefined;
  let page: Page;
  let pictures: string;

  beforeEach(async ({ onTestFinished }) => {
    browser ??= await launchChromium(program());
    page = await browser.newPage({ viewport: { width: 900, height: 700 } });
    pictures = await mkdtemp(join(tmpdir(), "convoke-browser-"));
    onTestFinished(async () => {
      await page.close();
      // Set the variable to keep the screenshots.
      if (process.env["CONVOKE_KEEP_PICTURES"] === "1") process.stdout.write(`${pictures}\n`);
      else await rm(pictures, { recursive: true, force: true });
    });
  }, WITHIN_MS);

  afterAll(() => browser?.close());

  const answer = (): Promise<string> => page.innerText("#answer");
  const state = (): Promise<string> => page.innerText("#state");

  test("shows the output of an agent at another origin as it arrives", async () => {
    await open({ PORT: "0", AGENT_PORT: "0" });

    await page.click("#send");
    const lengths = await lengthsUntil("completed");

    expect(await page.innerText("#name")).toBe("Storyteller");
    expect(await answer()).toMatch(/^Once there was a page .* there and then\.$/s);
    // It grew word by word: far more often than an answer in one chunk would.
    expect(lengths.length).toBeGreaterThan(10);
    expect(lengths).toEqual(lengths.toSorted((one, other) => one - other));
    expect((await page.screenshot({ path: join(pictures, "told.png") })).length).toBeGreaterThan(0);
  });

  test("stops the task when the user presses Stop", async () => {
    await open({ PORT: "0", AGENT_PORT: "0" });
    await page.click("#send");
    await expect.poll(async () => (await answer()).length, WAIT).toBeGreaterThan(20);

    await page.click("#stop");

    await expect.poll(state, WAIT).toBe("canceled");
    expect(await answer()).not.toContain("there and then.");
    expect(await page.isEnabled("#send")).toBe(true);
    await page.screenshot({ path: join(pictures, "stopped.png") });
  });

  test("from an origin that is not listed is rejected, and says so", async () => {
    const env = { PORT: "0", AGENT_PORT: "0", ALLOWED_ORIGIN: "https://app.example" };
    const origin = await open(env);

    await page.click("#send");

    await expect.poll(state, WAIT).toBe("failed");
    expect(await answer()).toContain(`it has to list this origin: CONVOKE_CORS_ORIGINS=${origin}`);
    // The card is public, so the page at least knows the agent's name.
    expect(await page.innerText("#name")).toBe("Storyteller");
    await page.screenshot({ path: join(pictures, "refused.png") });
  });

  test("verifies the signature of a card", async () => {
    const { kid, privateKey, publicKey } = await generateCardKey();
    const card = await signCard({ name: "Storyteller" }, [{ kid, alg: "ES256", privateKey }]);
    await open({ PORT: "0", AGENT_PORT: "0" });

    const verdict = await page.evaluate(
      `import("@convoke/protocol").then(({ verifyCard }) =>
        verifyCard(${JSON.stringify(card)}, { keys: [${JSON.stringify(publicKey)}] }))`,
    );

    expect(verdict).toEqual({ kind: "valid", kid, form: "spec" });
  });

  /** Opens the example's page; resolves to its origin. */
  async function open(env: Readonly<Record<string, string>>): Promise<string> {
    const { url } = await startExample("browser/server.ts", env);
    await page.goto(url, { waitUntil: "networkidle" });
    return new URL(url).origin;
  }

  /** All lengths of the answer until the task was in the state. */
  async function lengthsUntil(wanted: string): Promise<readonly number[]> {
    return page.evaluate(
      (last) =>
        new Promise<number[]>((resolve) => {
          const shown = document.querySelector("#answer")!;
          const lengths: number[] = [];
          new MutationObserver(() => lengths.push(shown.textContent.length)).observe(shown, {
            childList: true,
            subtree: true,
          });
          const word = document.querySelector("#state")!;
          new MutationObserver(() => {
            if (word.textContent === last) resolve(lengths);
          }).observe(word, { childList: true });
        }),
      wanted,
    );
  }
});
