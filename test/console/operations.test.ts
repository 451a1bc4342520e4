import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createJsonLogger } from "@convoke/engine";
import { type AgentServer, connect, defineAgent, mount, serve } from "convoke";
import express from "express";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { WAIT, WITHIN_MS } from "../browser/chromium.ts";
import { Webhook, answers } from "../push/a-webhook.ts";
import { needsBrowser, ready, violations, withAxe } from "./visitor.ts";

const visit = needsBrowser();

const parrot = defineAgent({
  name: "Parrot",
  description: "Repeats.",
  run: async ({ text, ask }) => {
    if (text === "fail") throw new Error("no");
    if (text === "ask") await ask("Which colour?");
    return text;
  },
});

const poet = defineAgent({ name: "Poet", description: "Writes.", run: () => "a poem" });

/** The failures of these tests are on purpose. */
const logger = createJsonLogger("error", () => undefined);

let server: AgentServer;

beforeAll(async () => {
  server = await serve([parrot, poet], {
    port: 0,
    data: "memory",
    logger,
    push: {
      allow: ["127.0.0.1"],
      maxAgeMs: 3000,
      backoff: { firstMs: 1000, longestMs: 1000 },
    },
  });
});

afterAll(() => server.close());

async function say(text: string, more: object = {}): Promise<string> {
  const agent = await connect(server.url);
  onTestFinished(() => agent.close());
  const { task } = await agent.send(text, { ...more });
  return task!.id;
}

const count = (page: Page, name: string): Promise<string> =>
  page.locator(`[data-count="${name}"]`).innerText();

const scrollsSideways = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);

describe("the home page", { timeout: WITHIN_MS }, () => {
  test("shows in two tabs what waits and what failed, as soon as it happens", async () => {
    const tabs = await Promise.all([1, 2].map(() => visit(`${server.url}console`)));
    for (const { page } of tabs) {
      await ready(page);
      expect(await count(page, "failed")).toBe("0");
    }

    await say("ask");
    await say("fail");

    for (const { page, complaints } of tabs) {
      await expect.poll(() => count(page, "failed"), WAIT).toBe("1");
      await expect.poll(() => count(page, "waiting"), WAIT).toBe("1");
      const waiting = page.getByRole("region", { name: "Waiting for you" });
      expect(await waiting.getByRole("link").first().getAttribute("href")).toMatch(
        /\/console\/tasks\/[\da-f-]+$/,
      );
      expect(complaints).toEqual([]);
    }
  });
});

describe("the keys of the console", { timeout: WITHIN_MS }, () => {
  test("lead to pages and agents, never while someone types, and can be switched off", async () => {
    const { page, complaints } = await visit(`${server.url}console`);
    await ready(page);

    await page.keyboard.press("g");
    await page.keyboard.press("m");
    await expect.poll(() => page.title(), WAIT).toBe("Metrics · Convoke");

    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").pressSequentially("gp poet");
    await page.getByText("Nothing matches.").waitFor(WAIT);
    await page.getByRole("combobox").fill("poet");
    const isSelected = (text: string): Promise<void> =>
      page.locator('[role="option"][aria-selected="true"]', { hasText: text }).waitFor(WAIT);
    await isSelected("Agent");
    await page.keyboard.press("ArrowDown");
    await isSelected("Talk to Poet");
    await page.keyboard.press("ArrowUp");
    await isSelected("Agent");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.title(), WAIT).toBe("Poet · Agents · Convoke");

    await page.keyboard.press("?");
    await page.getByLabel("Use keys without").uncheck();
    await page.getByRole("button", { name: "Close" }).click();
    await page.keyboard.press("g");
    await page.keyboard.press("h");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").waitFor();
    expect(await page.title()).toBe("Poet · Agents · Convoke");
    expect(complaints).toEqual([]);
  });
});

describe("a phone", { timeout: WITHIN_MS }, () => {
  test("has five sections in the bar and the others behind More, and never scrolls sideways", async () => {
    const { page, complaints } = await visit(`${server.url}console`, { width: 360, height: 740 });
    await ready(page);
    const bar = page.getByRole("navigation", { name: "Sections", exact: true });
    expect(await bar.getByRole("listitem").count()).toBe(5);
    expect(await scrollsSideways(page)).toBe(false);

    for (const name of ["Pushes", "Agents", "Metrics"]) {
      await bar.getByRole("button", { name: "More" }).click();
      await page.getByRole("navigation", { name: "More sections" }).getByText(name).click();
      await page.getByRole("heading", { level: 1, name }).waitFor();
      await ready(page);
      expect(await scrollsSideways(page)).toBe(false);
    }
    expect(complaints).toEqual([]);
  });
});

describe("the pages of operators", { timeout: WITHIN_MS }, () => {
  test.each([
    { width: 1280, scheme: "light" },
    { width: 360, scheme: "dark" },
  ] as const)("are accessible at $width pixels, $scheme", async (size) => {
    const { page, complaints } = await visit(`${server.url}console`, size);
    await withAxe(page);
    for (const path of ["", "/agents", "/agents/poet", "/pushes", "/metrics"]) {
      await page.goto(`${server.url}console${path}`);
      await ready(page);
      expect(await violations(page), path).toEqual([]);
    }
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").waitFor(WAIT);
    expect(await violations(page), "the palette").toEqual([]);
    expect(complaints).toEqual([]);
  });
});

describe("a push delivery that fails", { timeout: WITHIN_MS }, () => {
  test("is shown with the reason until it is given up, and can be replayed", async () => {
    const webhook = await Webhook.start();
    webhook.manner = answers(503);
    await say("hello", { pushConfig: { url: webhook.url } });
    const { page, complaints } = await visit(`${server.url}console/pushes?state=active`);
    const failing = page.locator('[data-push-state="failing"]');
    await failing.waitFor(WAIT);
    expect(await failing.innerText()).toContain("503");

    await page.getByRole("link", { name: "Given up" }).click();
    const dead = page.locator('[data-push-state="dead"]');
    await dead.waitFor(WAIT);
    expect(page.url()).toBe(`${server.url}console/pushes?state=dead`);
    expect(await dead.innerText()).toContain("503");

    webhook.manner = answers(200);
    await dead.getByRole("button", { name: "Replay", exact: true }).click();
    await page.getByText("1 delivery resumed.").waitFor(WAIT);
    await page.getByRole("link", { name: "Done" }).click();
    await page.locator('[data-push-state="done"]').waitFor(WAIT);
    expect(complaints).toEqual([]);
  });
});

describe("a console behind a token, below a path of an app", { timeout: WITHIN_MS }, () => {
  let base: string;
  let close: () => Promise<void>;

  beforeAll(async () => {
    const mounted = await mount([parrot, poet], {
      basePath: "/agent",
      data: "memory",
      logger,
      console: true,
      authenticate: ({ headers }) => {
        if (headers["authorization"] === "Bearer for-operators") return { owner: "ann" };
        return headers["authorization"] === "Bearer for-users"
          ? { owner: "bob", scopes: [] }
          : undefined;
      },
    });
    const http = express().use("/agent", mounted.node).listen(0, "127.0.0.1");
    await once(http, "listening");
    base = `http://127.0.0.1:${(http.address() as AddressInfo).port}/agent`;
    close = async () => {
      await mounted.close();
      http.closeAllConnections();
      http.close();
    };
  });

  afterAll(() => close());

  const signIn = async (page: Page, token: string): Promise<void> => {
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
  };

  test("asks for the token and shows the page of the address, and keeps the token nowhere", async () => {
    const { page, complaints } = await visit(`${base}/console/agents/poet`);
    await signIn(page, "for-operators");
    await page.getByRole("heading", { level: 1, name: "Poet" }).waitFor(WAIT);
    await ready(page);

    expect(page.url()).toBe(`${base}/console/agents/poet`);
    const stored = await page.evaluate(() =>
      JSON.stringify([localStorage, sessionStorage, document.cookie]),
    );
    expect(stored).not.toContain("for-operators");
    expect(await page.content()).not.toContain("for-operators");
    await page.reload();
    await page.getByRole("heading", { name: "Sign in" }).waitFor(WAIT);
    expect(complaints).toEqual([]);
  });

  test("says what is for operators only", async () => {
    const { page, complaints } = await visit(`${base}/console/metrics`);
    await signIn(page, "for-users");
    await page.getByText("Metrics are for operators of this server").waitFor(WAIT);
    const { status } = await fetch(`${base}/convoke/metrics`, {
      headers: { authorization: "Bearer for-users" },
    });
    expect(status).toBe(403);
    expect(complaints).toEqual([]);
  });

  test("gives nothing to a page of another origin, and cannot be framed", async () => {
    const headers = { authorization: "Bearer for-operators", origin: "https://evil.example" };
    const read = await fetch(`${base}/convoke/about`, { headers });
    expect(read.headers.get("access-control-allow-origin")).toBeNull();
    const replay = await fetch(`${base}/convoke/pushes:replay`, { method: "POST", headers });
    expect(replay.status).toBe(403);
    const page = await fetch(`${base}/console`);
    expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    const unknown = await fetch(`${base}/convoke/about`);
    expect(unknown.status).toBe(401);
  });
});
