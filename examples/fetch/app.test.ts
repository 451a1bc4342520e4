import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { aFolder, expectChunks } from "../../test/embedding/example.ts";
import { succeed } from "../../test/harness/program.ts";

test("an agent streams from a fetch handler, without a port", async () => {
  vi.stubEnv("CONVOKE_DATA", "memory");
  const { default: app } = await import("./app.ts");
  const fetchApp: typeof fetch = (input, init) => app.fetch(new Request(input, init));

  await expectChunks("http://localhost/agent/", fetchApp);
  const page = await app.fetch(new Request("http://localhost/"));

  expect(await page.text()).toBe("A page of the app.");
});

test("the story prints what the agent says", async () => {
  const main = fileURLToPath(new URL("./main.ts", import.meta.url));

  const stdout = await succeed(process.execPath, ["--conditions=@convoke/source", main, "4"], {
    cwd: await aFolder(),
  });

  expect(stdout).toBe("1 2 3 4 \n");
});
