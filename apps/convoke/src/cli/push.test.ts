import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { RemoteAgent } from "@convoke/client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { json, runCli, startFakeAgent } from "./testing/run-cli.suite.ts";
import { serveDemo } from "./testing/serve-demo.suite.ts";

/** A liveness bound for a slow machine. */
const WAIT = { timeout: 20_000 };

/** Rejects everything at first, which makes a server give up, and then accepts everything. */
async function startReceiver() {
  const receiver = { url: "", wants: false };
  const server = createServer((_request, response) => {
    response.writeHead(receiver.wants ? 204 : 410).end();
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return receiver;
}

const push = { allow: ["127.0.0.1"] };

async function pushesOf(url: string, state: string): Promise<readonly Record<string, unknown>[]> {
  const { stdout } = await runCli(["push", "list", url, "--state", state, "--json"]);
  return (JSON.parse(stdout) as { pushes: readonly Record<string, unknown>[] }).pushes;
}

async function taskGivenUp(agent: RemoteAgent, url: string, hook: string): Promise<string> {
  const before = (await pushesOf(url, "dead")).length;
  const { task } = await agent.send("hello");
  const taskId = String(task?.id);
  await agent.push.set(taskId, { id: "my-hook", url: hook });
  await vi.waitUntil(async () => (await pushesOf(url, "dead")).length > before, WAIT);
  return taskId;
}

describe("on a Convoke server", () => {
  test("dead letters are listed, with the reason and how to retry", async () => {
    const receiver = await startReceiver();
    const { url, agent } = await serveDemo({ push });
    const taskId = await taskGivenUp(agent, url, `${receiver.url}?secret=1`);

    const { code, stdout, stderr } = await runCli(["push", "list", url]);

    expect(code).toBe(0);
    const [heads, row, ...more] = stdout.trimEnd().split("\n");
    expect(heads).toMatch(/^TASK +CONFIG +RECEIVER +FAILING FOR +WHY$/);
    expect(row).toMatch(new RegExp(`^${taskId}  my-hook  ${receiver.url} +\\d+s +.*410`));
    expect(more).toEqual([]);
    expect(stderr).toBe(`Retry them with: convoke push replay ${url}\n`);
  });

  test("a replay delivers them once the receiver accepts them again", async () => {
    const receiver = await startReceiver();
    const { url, agent } = await serveDemo({ push });
    const taskId = await taskGivenUp(agent, url, receiver.url);
    receiver.wants = true;

    const finished = await runCli(["push", "replay", url]);

    expect(finished).toEqual({ code: 0, stdout: "Retrying 1 push config.\n", stderr: "" });
    await vi.waitUntil(async () => (await pushesOf(url, "done")).length === 1, WAIT);
    expect(await pushesOf(url, "done")).toMatchObject([{ taskId, id: "my-hook", state: "done" }]);
    expect((await runCli(["push", "list", url])).stderr).toBe("No failed deliveries.\n");
  });

  test("--task and --id select what to replay", async () => {
    const receiver = await startReceiver();
    const { url, agent } = await serveDemo({ push });
    const first = await taskGivenUp(agent, url, receiver.url);
    const second = await taskGivenUp(agent, url, receiver.url);
    receiver.wants = true;
    const replay = async (...args: string[]) =>
      (await runCli(["push", "replay", url, ...args])).stdout;

    expect(await replay("--task", "t9")).toBe("No failed deliveries of that kind.\n");
    expect(await replay("--id", "other-hook")).toBe("No failed deliveries of that kind.\n");
    expect(await replay("--task", first, "--id", "my-hook", "--json")).toBe('{"replayed":1}\n');
    expect(await pushesOf(url, "dead")).toMatchObject([{ taskId: second }]);
  });

  test.each([
    ["dead", "No failed deliveries.\n"],
    ["active", "No deliveries in progress.\n"],
    ["done", "No completed deliveries.\n"],
  ])("if none is %s, this is reported", async (state, stderr) => {
    const { url } = await serveDemo();

    const finished = await runCli(["push", "list", url, "--state", state]);

    expect(finished).toEqual({ code: 0, stdout: "", stderr });
    expect((await runCli(["push", "replay", url])).stdout).toBe("No failed deliveries.\n");
  });

  test("it needs the token, which may come from the environment", async () => {
    const { url } = await serveDemo({ token: "secret" });

    const refused = await runCli(["push", "list", url]);
    const welcome = await runCli(["push", "list", url], { env: { CONVOKE_TOKEN: "secret" } });

    expect(refused.code).toBe(3);
    expect(refused.stderr).toContain("convoke login http://127.0.0.1:");
    expect(welcome.code).toBe(0);
  });

  test("the URL of the card works as well as that of the server", async () => {
    const { url } = await serveDemo();

    const { code } = await runCli(["push", "list", `${url}/.well-known/agent-card.json`]);

    expect(code).toBe(0);
  });
});

describe("the push configs of a task", () => {
  test("are set, shown and deleted", async () => {
    const { url, agent } = await serveDemo({ push });
    const { task } = await agent.send("ask");
    const taskId = String(task?.id);
    const hook = "http://127.0.0.1:9/hook";
    const show = async () => (await runCli(["push", "show", url, taskId])).stdout;

    const set = await runCli(["push", "set", url, taskId, hook, "--id", "mine", "--receipt", "r1"]);
    const shown = await show();
    const whole = await runCli(["push", "show", url, taskId, "--json"]);
    const deleted = await runCli(["push", "delete", url, taskId, "mine"]);

    expect(set).toEqual({
      code: 0,
      stdout: "mine\n",
      stderr: `Stop it with: convoke push delete ${url} ${taskId} mine\n`,
    });
    expect(shown).toBe(`CONFIG  WEBHOOK\nmine    ${hook}\n`);
    expect(JSON.parse(whole.stdout)).toMatchObject({ configs: [{ id: "mine", url: hook }] });
    expect(deleted).toMatchObject({ code: 0, stderr: "Deleted the push config mine.\n" });
    expect(await show()).toBe("");
  });

  test.each([
    [["set", "http://x"], "The task id is missing."],
    [["set", "http://x", "t1"], "The address of the webhook is missing."],
    [["set", "http://x", "t1", "hooks"], 'The webhook "hooks" is not an http or https address.'],
    [["set", "http://x", "t1", "http://h", "y"], '"y" is an unexpected argument.'],
    [["show", "http://x"], "The task id is missing."],
    [
      ["delete", "http://x", "t1"],
      "The id of the push config is missing; convoke push show lists them.",
    ],
  ])("%j is rejected", async (args, problem) => {
    const { code, stderr } = await runCli(["push", ...args]);

    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `${problem} See: convoke push ${args[0]} --help\n`,
    });
  });
});

describe("on other servers", () => {
  test.each([404, 405])(
    "one that responds with %d is reported as not a Convoke server",
    async (status) => {
      const other = await startFakeAgent({
        pages: { "/convoke/pushes?state=dead": () => ({ status }) },
      });

      expect(await runCli(["push", "list", other.url])).toEqual({
        code: 3,
        stdout: "",
        stderr: `The server at ${other.url} is not a Convoke server, or an older one: it has no information about pushes\n`,
      });
    },
  );

  test.each([
    [{ body: "<html>" }, "The response of the server has no list of pushes\n"],
    [json({}), "The response of the server has no list of pushes\n"],
    [{ status: 502, body: "<html>" }, "The agent answered with an error: HTTP 502 Bad Gateway\n"],
    [{ status: 502, body: "{" }, "The agent answered with an error: HTTP 502 Bad Gateway\n"],
  ])("an invalid response is exit code 3", async (reply, stderr) => {
    const other = await startFakeAgent({ pages: { "/convoke/pushes?state=dead": () => reply } });

    expect(await runCli(["push", "list", other.url])).toEqual({ code: 3, stdout: "", stderr });
  });

  test("all pages of a list are read", async () => {
    const other = await startFakeAgent({
      pages: {
        "/convoke/pushes?state=dead": () => json({ pushes: [{ id: "a" }], nextPageToken: "t" }),
        "/convoke/pushes?state=dead&pageToken=t": () =>
          json({ pushes: [{ id: "b" }], nextPageToken: "" }),
      },
    });

    expect(await pushesOf(other.url, "dead")).toEqual([{ id: "a" }, { id: "b" }]);
  });

  test("a repeated page token ends the list", async () => {
    const page = () => json({ pushes: [{ id: "a" }], nextPageToken: "same" });
    const other = await startFakeAgent({
      pages: {
        "/convoke/pushes?state=dead": page,
        "/convoke/pushes?state=dead&pageToken=same": page,
      },
    });

    expect(await pushesOf(other.url, "dead")).toHaveLength(2);
  });

  test("an unreachable one is exit code 3, with the reason", async () => {
    const other = await startFakeAgent({});
    await other.close();

    const { code, stderr } = await runCli(["push", "replay", other.url]);

    expect(code).toBe(3);
    expect(stderr).toMatch(/^Could not reach .*ECONNREFUSED/);
  });
});
