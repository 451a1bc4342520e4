import { createRequire } from "node:module";
import type Axe from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, expect } from "vitest";
import { WAIT, launchChromium } from "../browser/chromium.ts";
import { needs } from "../needs.ts";

export interface VisitOptions {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: "light" | "dark";
}

/** A tab in which someone looks at a console. */
export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the browser complained about: violated policies, errors of scripts, requests to other origins. */
  readonly complaints: string[];
}

/**
 * A browser for the tests of a file. Each visit is a tab of a profile of its own, and when its test
 * ends nothing may have left the origin, violated the page's policy or thrown an error.
 */
export function needsBrowser(): (url: string, options?: VisitOptions) => Promise<Visit> {
  const program = needs("chromium");
  let browser: Promise<Browser> | undefined;
  afterAll(async () => (await browser)?.close());
  return async (url, { width = 1280, height = 800, scheme = "light" } = {}) => {
    browser ??= launchChromium(program());
    const context = await (
      await browser
    ).newContext({
      viewport: { width, height },
      colorScheme: scheme,
    });
    const page = await context.newPage();
    const complaints = watch(page, new URL(url).origin);
    await page.goto(url);
    return { page, context, complaints };
  };
}

/** Waits until the page has loaded what it shows. */
export async function ready(page: Page): Promise<void> {
  await expect
    .poll(() => page.locator("[data-status]").first().getAttribute("data-status"), WAIT)
    .toBe("ready");
}

/** Loads axe before the scripts of each page that is opened next, so that the page's policy stays on. */
export async function withAxe(page: Page): Promise<void> {
  await page.addInitScript({ path: createRequire(import.meta.url).resolve("axe-core/axe.min.js") });
}

/** What violates WCAG 2.2 AA on the page, each rule with its elements. */
export function violations(page: Page): Promise<readonly string[]> {
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { readonly axe: Pick<typeof Axe, "run"> };
    const runOnly = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
    const result = await axe.run({ runOnly });
    return result.violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`,
    );
  });
}

function watch(page: Page, origin: string): string[] {
  const complaints: string[] = [];
  page.on("pageerror", ({ message }) => complaints.push(`error: ${message}`));
  page.on("console", (message) => {
    // A failed request is what some stories are about; the page shows it, and the browser notes it.
    const isNetwork = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isNetwork) complaints.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const { protocol, origin: asked } = new URL(request.url());
    if (asked !== origin && !["data:", "blob:"].includes(protocol)) {
      complaints.push(`request to ${request.url()}`);
    }
  });
  return complaints;
}
