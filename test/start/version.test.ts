import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { World, ours } from "../mcp/a-world.ts";
import { acpOptions, serveProgram } from "../processes/a-process-agent.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

const versionIn = (path: string): string =>
  (JSON.parse(read(path)) as { readonly version: string }).version;

const VERSION = versionIn("apps/convoke/package.json");

const OURSELVES = { name: "convoke", version: VERSION };

test("all packages have the same version, and no source repeats it", () => {
  const manifests = globSync("{packages,apps}/*/package.json", { cwd: ROOT });
  const sources = globSync("{packages,apps}/*/src/**/*.{ts,tsx}", { cwd: ROOT });

  const others = manifests.filter((path) => versionIn(path) !== VERSION);
  const repeating = sources.filter(
    (path) => !/\.(?:test|suite)\.tsx?$/.test(path) && read(path).includes(`"${VERSION}"`),
  );

  expect(manifests.length).toBeGreaterThan(8);
  expect(sources.length).toBeGreaterThan(500);
  expect([others, repeating]).toEqual([[], []]);
});

test("an MCP server learns the version", async () => {
  const world = new World({ helpful: ours("helpful-server") });

  expect(JSON.parse(String(await world.result("helpful__client")))).toMatchObject(OURSELVES);
});

test("a program that speaks ACP learns the version", async () => {
  const { remote } = await serveProgram(acpOptions());

  expect(JSON.parse((await remote.send("client")).text)).toEqual(OURSELVES);
});
