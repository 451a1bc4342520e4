import { type AgentServer, defineAgent, serve } from "convoke";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WAIT, WITHIN_MS } from "../browser/chromium.ts";
import { needsBrowser, ready } from "./visitor.ts";

const visit = needsBrowser();
let server: AgentServer;

beforeAll(async () => {
  const parrot = defineAgent({ name: "Parrot", description: "Repeats.", run: ({ text }) => text });
  server = await serve(parrot, { port: 0, data: "memory" });
});

afterAll(() => server.close());

describe("the console", { timeout: WITHIN_MS }, () => {
  test("is where the address of the server leads in a browser, and loads nothing from elsewhere", async () => {
    const { page, complaints } = await visit(server.url);
    await ready(page);

    expect(page.url()).toBe(`${server.url}console`);
    expect(await page.locator("h1").innerText()).toBe("Home");
    await expect
      .poll(() => page.locator("[data-connection]").getAttribute("data-connection"), WAIT)
      .toBe("open");
    expect(complaints).toEqual([]);
  });
});
