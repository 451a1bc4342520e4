import { type AgentServer, connect, serve } from "convoke";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WITHIN_MS } from "../browser/chromium.ts";
import { clerk, writer } from "./agents.suite.ts";
import { needsBrowser, ready, violations, withAxe } from "./visitor.ts";

const visit = needsBrowser();
let server: AgentServer;
/** The pages that visitors use, with content on each. */
let paths: readonly string[];

beforeAll(async () => {
  server = await serve([clerk, writer], { port: 0, data: "memory" });
  const ask = await connect(`${server.url}agents/clerk`);
  const write = await connect(`${server.url}agents/writer`);
  const { task: answered } = await ask.send("hello");
  const { task: form } = await ask.send("order");
  const { task: secret } = await ask.send("secret");
  const { task: guarded } = await write.send('write_file(path="a.txt", text="the new line")');
  const lenses = ["", "/timeline", "/tree", "/model", "/wire", "/pushes"];
  paths = [
    `/chat/clerk/${answered!.contextId}`,
    `/chat/clerk/${form!.contextId}`,
    `/chat/clerk/${secret!.contextId}`,
    `/chat/writer/${guarded!.contextId}`,
    "/approvals",
    "/tasks",
    ...lenses.map((lens) => `/tasks/${guarded!.id}${lens}`),
  ];
});

afterAll(() => server.close());

describe("the pages of the console", { timeout: 2 * WITHIN_MS }, () => {
  test.each([
    { width: 1280, scheme: "light" },
    { width: 1280, scheme: "dark" },
    // As wide as a page of 1280 pixels at 200 %, and more.
    { width: 640, scheme: "light" },
    { width: 360, scheme: "dark" },
  ] as const)(
    "are accessible at $width pixels, $scheme, and never scroll sideways",
    async (size) => {
      const { page, complaints } = await visit(`${server.url}console`, size);
      await withAxe(page);
      for (const path of paths) {
        await page.goto(`${server.url}console${path}`);
        await ready(page);
        expect(await violations(page), path).toEqual([]);
        const wide = await page.evaluate("document.documentElement.scrollWidth");
        expect(wide, path).toBeLessThanOrEqual(size.width);
      }
      expect(complaints).toEqual([]);
    },
  );

  test("show where the focus is with colours that the system forces, and move nothing if motion is reduced", async () => {
    const { page, complaints } = await visit(`${server.url}console`);
    await page.emulateMedia({ forcedColors: "active", reducedMotion: "reduce" });
    await page.goto(`${server.url}console/approvals`);
    await ready(page);

    const steps: string[] = [];
    for (let step = 0; step < 25; step++) {
      await page.keyboard.press("Tab");
      steps.push(
        await page.evaluate(() => {
          const { outlineStyle, animationDuration } = getComputedStyle(document.activeElement!);
          return `${document.activeElement!.tagName} ${outlineStyle} ${Number.parseFloat(animationDuration) < 0.01}`;
        }),
      );
    }

    expect(
      steps.filter((step) => !/ (?:solid|auto) true$/.test(step) && !step.startsWith("BODY")),
    ).toEqual([]);
    expect(steps.join()).toContain("BUTTON");
    expect(complaints).toEqual([]);
  });
});
