import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Directory,
  serveAgent,
  serveDirectory,
} from "../../../../test/registry/a-directory.ts";
import type { AgentServer } from "../host/serve-agent.ts";
import { type Finished, runCli, startFakeAgent } from "./testing/run-cli.suite.ts";

let directory: Directory;
let poet: AgentServer;
let bard: AgentServer;

beforeAll(async () => {
  directory = await serveDirectory();
  poet = await serveAgent("Poet");
  bard = await serveAgent("Bard");
});

afterAll(async () => {
  await Promise.all([directory, poet, bard].map((one) => one.close()));
});

/** Runs a command of `convoke agents` as one of the callers. */
function agents(token: string, command: string, ...words: readonly string[]): Promise<Finished> {
  const names = command === "" ? [] : [command];
  return runCli(["agents", ...names, directory.url, ...words, "--token", token]);
}

async function registered(url: string, ...words: readonly string[]): Promise<string> {
  const { stdout } = await agents("ann", "register", url, ...words);
  return stdout.trim();
}

describe("on a server with a registry", () => {
  test("its own agents are listed, and those that were registered, with their health", async () => {
    const id = await registered(poet.url, "--name", "Our poet", "--tag", "fast");

    const { code, stdout } = await agents("bob", "");

    expect(code).toBe(0);
    const [served, remote] = stdout.split("\n\n");
    expect(served).toMatch(/^ID +NAME +URL\ndirectory +Directory +http/);
    expect(remote).toContain(`${id}  Our poet`);
    expect(remote).toMatch(/ active +\d+s +up 100 %, \d+ ms +rhyme, translate\n/);
  });

  test("JSON has the entries of the registry as the server reports them", async () => {
    await registered(poet.url);

    const { stdout } = await agents("olga", "", "--owner", "*", "--json");

    expect(JSON.parse(stdout)).toMatchObject({
      agents: [{ id: "directory" }],
      registry: [{ url: poet.url, owner: "ann", isOwn: false, health: { state: "up" } }],
    });
  });

  test("a search has what matches, and says if nothing does", async () => {
    await registered(poet.url, "--tag", "fast");

    const found = await agents(
      "bob",
      "search",
      "--skill",
      "rhyme",
      "--tag",
      "fast",
      "--tag",
      "words",
    );
    const none = await agents("bob", "search", "--text", "cooking");

    expect(found.stdout).toContain(poet.url);
    expect(none).toMatchObject({ code: 0, stdout: "", stderr: "No registered agent matches.\n" });
  });

  test("a route ranks the agents with the reasons, and says why others were left out", async () => {
    const id = await registered(poet.url);
    await registered(bard.url);
    await agents("ann", "heartbeat", id, "--open-tasks", "4");
    await agents("bob", "report", id, "--failed");

    const { code, stdout, stderr } = await agents("bob", "route", "--skill", "rhyme");
    const nobody = await agents(
      "bob",
      "route",
      "--skill",
      "rhyme",
      "--exclude",
      "Poet",
      "--exclude",
      bard.url,
    );

    expect(code).toBe(0);
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^ +\d+ +Bard +http[^]+\n +\d+ +Poet +http/);
    expect(stdout).toContain("reputation 20 of 40: no calls were reported");
    expect(stdout).toContain("reputation 13 of 40: 0 of 1 calls succeeded");
    expect(stdout).toContain("workload 6 of 30: it has 4 open tasks");
    expect(nobody).toMatchObject({ code: 1, stdout: "" });
    expect(nobody.stderr).toContain("Left out: Poet, because it was excluded\n");
  });

  test("only the owner removes an entry", async () => {
    const id = await registered(bard.url);

    const other = await agents("bob", "remove", id);
    const own = await agents("ann", "remove", id);

    expect(other.code).toBe(3);
    expect(other.stderr).toContain("there is no such agent in the registry");
    expect(own).toMatchObject({ code: 0, stdout: `Removed: ${id}\n` });
  });

  test.each([
    [["register"], "The address of the agent to register is missing."],
    [["remove"], "The id of the registered agent is missing; convoke agents"],
    [["report", "x"], "Give exactly one of --succeeded and --failed."],
    [["heartbeat", "x", "--open-tasks", "-1"], "--open-tasks"],
    [["search", "--state", "activ"], 'not "activ". Did you mean active?'],
  ])("agents %j is rejected as a wrong command line", async ([command = "", ...words], problem) => {
    const { code, stderr } = await agents("ann", command, ...words);

    expect(code).toBe(2);
    expect(stderr).toContain(problem);
  });
});

test("a server without a registry lists its own agents, and other servers have no list", async () => {
  const { code, stdout } = await runCli(["agents"], { env: { CONVOKE_URL: poet.url } });
  const other = await startFakeAgent({});
  const unknown = await runCli(["agents", other.url]);

  expect(code).toBe(0);
  expect(stdout.trimEnd().split("\n")).toHaveLength(2);
  expect(unknown.code).toBe(3);
  expect(unknown.stderr).toContain("it has no information about its agents");
});
