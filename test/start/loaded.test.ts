import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeAgent } from "./agent-file.ts";
import { serveConvoke } from "./convoke-process.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const RECORDER = new URL("./record-modules.ts", import.meta.url).href;

/** The packages that a server has loaded when it is ready: its own by folder, others by name. */
async function packagesOf(cwd: string, args: readonly string[]): Promise<readonly string[]> {
  const file = join(cwd, "modules.txt");
  await serveConvoke({
    cwd,
    args: ["serve", ...args],
    env: { NODE_OPTIONS: `--import=${RECORDER}`, MODULES: file },
  });
  const urls = readFileSync(file, "utf8").split("\n");
  const names = urls.map(
    (url) =>
      /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ??
      /\/(?:packages|apps)\/([^/]+)\/src\//.exec(url)?.[1],
  );
  return [...new Set(names)].filter((name) => name !== undefined).toSorted();
}

const SERVER = ["backends", "client", "convoke", "egress", "engine", "protocol", "runtime"];

test("a server of one agent starts without the coding agent, programs as agents and any third-party package", async () => {
  expect(await packagesOf(temporaryFolder(), [])).toEqual([...SERVER, "server"]);
});

test("an agent that imports the library adds only what the library exports, and one package for diffs", async () => {
  const cwd = temporaryFolder();
  const agent = writeAgent(
    cwd,
    'export default defineAgent({ name: "A", description: "a", run: () => "a" });',
  );

  const loaded = await packagesOf(cwd, [agent]);

  expect(loaded).toEqual([...SERVER, "coder", "diff", "host", "server"].toSorted());
});
