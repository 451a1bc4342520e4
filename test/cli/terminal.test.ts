import { connect } from "@convoke/client";
import { expect, test } from "vitest";
import { STUCK, startStuckAgent } from "../client/a-grpc-agent.ts";
import { pagesV1, startFakeAgent } from "../client/fake-agent.ts";
import { needs } from "../needs.ts";
import { writeAgent } from "../start/agent-file.ts";
import { serveConvoke } from "../start/convoke-process.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { Typist } from "./typist.ts";

const script = needs("script");

const CTRL_C = "\u0003";

/** A command at a terminal, without colours. */
function atTerminal(args: readonly string[], cwd = temporaryFolder()): Typist {
  return new Typist(args, { terminal: script(), cwd, env: { NO_COLOR: "1", PORT: "0" } });
}

test("an MCP server at a terminal says what it is and how to use it", async () => {
  const { url } = await serveConvoke({ cwd: temporaryFolder() });
  const person = atTerminal(["mcp", url]);

  await person.sees(/This is an MCP server: it waits for an MCP host/);
  await person.sees(/claude mcp add my-agent -- node \S+convoke\.js mcp http:/);
  await person.sees(/Press Ctrl\+C to stop\./);
  person.type(CTRL_C);
  await person.ended;
});

test("a server at a terminal logs in a readable form, and says why it does not stop immediately", async () => {
  const cwd = temporaryFolder();
  writeAgent(
    cwd,
    `import { setTimeout as sleep } from "node:timers/promises";
     export default defineAgent({ name: "Busy", description: "d", async *run({ text }) {
       if (text === "fail") throw new Error("out of paper");
       yield "working ";
       await sleep(600_000);
     } });`,
  );
  const person = atTerminal(["serve", "agent.mts"], cwd);
  const [, url = ""] = await person.sees(/Look at +(http:\S+?)\/console/);
  await person.sees(/Type +npx|Type +node/);
  const agent = await connect(url);

  await agent.send("fail");
  await person.sees(/\d\d:\d\d:\d\d ERROR .*\r\n {4}Error: out of paper\r\n/);
  for await (const event of agent.stream("work")) if (event.kind === "artifact-update") break;
  person.type(CTRL_C);
  await person.sees(/Stopping: what has begun has up to 10 s to end\. Press Ctrl\+C again/);
  person.type(CTRL_C);

  expect((await person.ended).code).not.toBe(0);
});

test("Ctrl+C in send prints the id of the task, which continues", async () => {
  const cwd = temporaryFolder();
  const { url } = await serveConvoke({ cwd });
  const agent = await connect(url);
  const person = atTerminal(["send", url, "slow 100000"]);
  await expect
    .poll(async () => (await agent.list()).tasks[0]?.status.state, { timeout: 20_000 })
    .toBe("working");
  const [task] = (await agent.list()).tasks;

  person.type(CTRL_C);
  const { code, stdout } = await person.ended;

  expect(code).toBe(130);
  expect(stdout).toMatch(
    new RegExp(`Task ${task?.id} continues\\. Follow it with: \\S+ .* --watch`),
  );
  expect((await agent.get(task?.id ?? "")).status.state).toBe("working");
});

test("Ctrl+C ends a call to a gRPC server that never accepts it", async () => {
  const url = await startStuckAgent(STUCK["accepts no streams"]);
  const supportedInterfaces = [{ url, protocolBinding: "GRPC", protocolVersion: "1.0" }];
  const agent = await startFakeAgent({ pages: pagesV1({ supportedInterfaces }) });
  const person = atTerminal(["send", agent.url, "hello", "--allow", new URL(url).host]);
  await expect.poll(() => agent.seen.length, { timeout: 20_000 }).toBeGreaterThan(0);

  person.type(CTRL_C);

  expect((await person.ended).code).toBe(130);
});
