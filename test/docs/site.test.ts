import type { Server } from "node:http";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WITHIN_MS, launchChromium } from "../browser/chromium.ts";
import { succeed } from "../harness/program.ts";
import { needs } from "../needs.ts";
import { deadLinks, serveSite } from "./built-site.ts";
import { ROOT } from "./docs-pages.ts";

const PAGES = ["/", "/concepts/durable-steps", "/guide/settings"];

// The first run installs the tools of the site.
const BUILD_MS = 600_000;

beforeAll(async () => {
  const options = { cwd: ROOT, timeoutMs: BUILD_MS };
  await succeed(process.execPath, ["scripts/docs.ts", "build"], options);
}, BUILD_MS);

test("no link of the built site is dead, those of the API reference included", () => {
  expect(deadLinks()).toEqual([]);
});

describe("the site in a browser", { timeout: WITHIN_MS }, () => {
  const program = needs("chromium");
  let browser: Browser | undefined;
  let site: string;
  let server: Server;

  beforeAll(async () => {
    ({ url: site, server } = await serveSite());
  });
  afterAll(async () => {
    await browser?.close();
    server.closeAllConnections();
    server.close();
  });

  async function open(path: string, colorScheme: "light" | "dark"): Promise<Page> {
    browser ??= await launchChromium(program());
    const page = await browser.newPage({ colorScheme, reducedMotion: "reduce" });
    await page.goto(`${site}${path}`, { waitUntil: "networkidle" });
    return page;
  }

  for (const path of PAGES) {
    test.each(["light", "dark"] as const)(
      `${path} has no fault that axe finds, in %s`,
      async (scheme) => {
        const page = await open(path, scheme);

        await page.addScriptTag({ path: join(ROOT, "docs/node_modules/axe-core/axe.min.js") });
        const faults: unknown = await page.evaluate(`axe.run().then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ": " + nodes.map(({ target }) => target).join(", ")))`);

        expect(faults).toEqual([]);
        await page.close();
      },
    );
  }

  test("a page asks no other server for anything", async () => {
    const asked: string[] = [];
    const page = await open("/404", "light");
    page.on("request", (request) => asked.push(new URL(request.url()).origin));

    for (const path of PAGES) await page.goto(`${site}${path}`, { waitUntil: "networkidle" });

    expect(new Set(asked)).toEqual(new Set([site]));
    await page.close();
  });

  test("the search finds a page by a word in it", async () => {
    const page = await open("/", "light");

    await page.click(".VPNavBarSearch button");
    await page.fill("#localsearch-input", "StepUnknownError");

    await page.waitForSelector(".VPLocalSearchBox .result");
    expect(await page.innerText(".VPLocalSearchBox .results")).toContain("Durable steps");
    await page.close();
  });
});
