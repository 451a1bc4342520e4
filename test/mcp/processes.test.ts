import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { processIdentity } from "../../packages/runtime/src/processes/child-records.ts";
import { start } from "../harness/program.ts";
import { World, ours } from "./a-world.ts";
import { eventually } from "./eventually.ts";
import { MARK, expectNoLeftovers, markedProcesses } from "./marked-processes.ts";

expectNoLeftovers();

const DOOMED = fileURLToPath(new URL("servers/doomed-agent.ts", import.meta.url));
const ODD = fileURLToPath(new URL("servers/odd-server.ts", import.meta.url));

test("a stubborn server and its child processes are gone when close resolves", async () => {
  const world = new World({ odd: ours("odd-server", ["stubborn"]) });
  await world.names();
  await eventually(() => expect(markedProcesses()).toHaveLength(2));

  await world.servers.close();

  expect(markedProcesses()).toEqual([]);
  expect(world.servers.report()).toEqual([{ name: "odd", status: "disconnected", tools: [] }]);
  await expect(world.servers.tools()).resolves.toEqual([]);
});

test("a server that hangs at its start is gone when close resolves", async () => {
  const world = new World({ odd: ours("odd-server", ["hanging", "stubborn"]) });
  const names = world.names();
  await eventually(() => expect(markedProcesses()).toHaveLength(2));

  await world.servers.close();

  expect(markedProcesses()).toEqual([]);
  expect(await names).toEqual([]);
});

test("a process that exits stops its servers", async () => {
  const folder = await aFolder();
  const agent = start(process.execPath, [...NODE, DOOMED, folder, ODD, MARK], { cwd: folder });
  await agent.until((stdout) => (stdout.includes("started") ? stdout : undefined));
  expect(markedProcesses()).toHaveLength(2);

  // Like any program that catches the signal and exits by itself.
  await agent.kill("SIGUSR2");

  await eventually(() => expect(markedProcesses()).toEqual([]));
});

test("what outlives a killed process is stopped by the next", async () => {
  const folder = await aFolder();
  const agent = start(process.execPath, [...NODE, DOOMED, folder, ODD, MARK], { cwd: folder });
  await agent.until((stdout) => (stdout.includes("started") ? stdout : undefined));
  expect(await readdir(folder)).toHaveLength(1);
  await agent.kill("SIGKILL");
  expect(markedProcesses()).toHaveLength(2);

  const world = new World({ odd: ours("odd-server") }, { folder });

  await eventually(() => expect(markedProcesses()).toEqual([]));
  expect(await readdir(folder)).toEqual([]);
  expect(world.log).toMatchObject([
    { message: "an MCP server had outlived its agent and was ended" },
  ]);
});

test("servers of a living process are left alone", async () => {
  const folder = await aFolder();
  const first = new World({ odd: ours("odd-server") }, { folder });
  await first.names();

  const second = new World({ odd: ours("odd-server") }, { folder });

  expect(second.log).toEqual([]);
  expect(await first.result("odd__plain")).toBe("called plain");
  await first.servers.close();
  expect(await readdir(folder)).toEqual([]);
});

test("a process that only has the same pid as a lost server is left alone", async () => {
  const folder = await aFolder();
  const bystander = start(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { cwd: folder });
  const other = { pid: bystander.pid, startTime: "1", boot: processIdentity(process.pid)!.boot };
  const owner = { ...other, pid: 999_999_999 };
  await writeFile(join(folder, "mcp-child-1-1.json"), JSON.stringify({ owner, child: other }));
  await writeFile(join(folder, "mcp-child-2-2.json"), '{"owner":{"pid":1},"child":{"pid":-1}}');
  await writeFile(join(folder, "mcp-child-3-3.json"), "not JSON");

  const world = new World({}, { folder });

  expect(world.log).toEqual([]);
  expect(processIdentity(bystander.pid)).toBeDefined();
  expect(await readdir(folder)).toEqual([]);
});

const NODE = ["--conditions=@convoke/source"];

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "mcp-children-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}
