import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { BIN } from "../cli/typist.ts";
import { keptPort } from "../harness/kept-port.ts";
import { calls, resultsTold } from "../loop/scripts.ts";
import { AgentWorld } from "../mcp/an-agent.ts";
import { eventually } from "../mcp/eventually.ts";
import { MARK, expectNoLeftovers } from "../mcp/marked-processes.ts";
import { run } from "../harness/program.ts";
import { type ServedProcess, serveConvoke } from "../start/convoke-process.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { aHost, agentFile } from "./a-host.ts";
import { untilItCounts } from "./until-it-counts.ts";

expectNoLeftovers();

/** An agent in its own process, which can be killed. */
async function startAgent(
  name: "clerk" | "writer" = "clerk",
  place: { readonly cwd?: string; readonly port?: number } = {},
): Promise<ServedProcess & { readonly cwd: string }> {
  const { cwd = temporaryFolder(), port = await keptPort() } = place;
  const args = ["serve", agentFile(name), "--port", String(port)];
  return { ...(await serveConvoke({ cwd, args })), cwd };
}

describe("when the agent stops", () => {
  test("a call reports it, and the next works again after the restart, with the conversation", async () => {
    const { url, port, cwd, program } = await startAgent();
    const host = await aHost([url, "--reconnect", "0"], { cwd });
    const { structure } = await host.call("greet", { message: "hello" });

    await program.kill("SIGKILL");
    const down = await host.call("echo", { message: "hi" });
    await startAgent("clerk", { cwd, port });
    const done = await host.call("greet", { message: "Ann", taskId: structure.taskId });

    expect(down.isError).toBe(true);
    expect(down.text).toMatch(/^The agent gave no answer: .*the next call will work\.$/s);
    expect(done.structure).toMatchObject({ taskId: structure.taskId, text: "Hello, Ann!" });
    expect(host.changes).toBe(0);
  });

  test("in the middle of a call and restarts, the call still ends with a result", async () => {
    const { url, port, cwd, program } = await startAgent();
    const host = await aHost([url], { cwd });
    const { onProgress, counts } = untilItCounts();
    const call = host.call("count", { message: "go" }, { onProgress });
    await counts;

    await program.kill("SIGKILL");
    await startAgent("clerk", { cwd, port });

    const cut = await call;
    expect(cut.isError).toBe(true);
    expect(cut.structure.state).toBe("failed");
    expect(cut.text).toMatch(/^The task failed: /);
    expect(cut.text).toContain("1 2 3 ");
  });

  test("and another one takes its place, the host is notified of changed tools", async () => {
    const { url, port, cwd, program } = await startAgent();
    const host = await aHost([url, "--reconnect", "0"], { cwd });

    await program.kill("SIGKILL");
    await host.call("echo", { message: "hi" });
    await startAgent("writer", { port });
    await host.call("echo", { message: "hi" });

    await eventually(() => expect(host.changes).toBeGreaterThan(0));
    const { tools } = await host.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["the-writer"]);
  });

  test.each<[args: readonly string[], code: number, problem: RegExp]>([
    [["http://127.0.0.1:9"], 3, /^Could not reach http:\/\/127\.0\.0\.1:9: .*\n/],
    [["nobody.ts"], 5, /^There is no file nobody\.ts\.\n$/],
  ])(
    "before the start, or is not an agent (%j), this is reported only on stderr",
    async (args, code, problem) => {
      const ended = await run(process.execPath, [BIN, "mcp", ...args], { cwd: temporaryFolder() });

      expect(ended).toMatchObject({ code, stdout: "" });
      expect(ended.stderr).toMatch(problem);
    },
  );
});

test("an agent of ours uses another one through it, and passes its questions to its own caller", async () => {
  const model = scriptedModel([calls("office__greet", { message: "hello" }), "Done."]);
  const office = {
    command: process.execPath,
    args: [BIN, "mcp", agentFile("clerk"), "--data", "memory"],
    env: { MCP_TEST: MARK },
    confirm: "never",
  } as const;
  const world = new AgentWorld({ model, mcpServers: { office } });

  const asked = await world.ask("go");
  const done = await world.ask("Ann", { taskId: asked.id });

  expect(asked.status.state).toBe("input-required");
  expect(JSON.stringify(asked.status.message)).toContain("What is your name?");
  expect(done.status.state).toBe("completed");
  expect(resultsTold(model.requests)).toMatchObject([
    { structuredContent: { state: "completed", text: "Hello, Ann!" } },
  ]);
});
