import { expect, test } from "vitest";
import { expectChunks, startExample } from "../../test/embedding/example.ts";

test("an agent streams from inside an Express app, which has pages of its own", async () => {
  const { program, url } = await startExample("express/server.ts");

  await expectChunks(url);
  const page = await fetch(new URL("/", url));
  const { code } = await program.kill("SIGTERM");

  expect(await page.text()).toBe("A page of the app.");
  expect(code).toBe(0);
});
