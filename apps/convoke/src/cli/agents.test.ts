import { afterAll, beforeAll, expect, test } from "vitest";
import { createJsonLogger } from "@convoke/engine";
import { aWordAgent } from "../../../../test/host/a-word-agent.ts";
import { type AgentServer, serve } from "../host/serve-agent.ts";
import { runCli, startFakeAgent } from "./testing/run-cli.suite.ts";

const logger = createJsonLogger("silent", () => undefined);

let poet: AgentServer;
let host: AgentServer;

beforeAll(async () => {
  const own = { port: 0, data: "memory", logger };
  poet = await serve(aWordAgent("Poet"), own);
  host = await serve([aWordAgent("Bard")], {
    ...own,
    remoteAgents: { poet: { url: poet.url, name: "Our friend" } },
  });
});

afterAll(() => Promise.all([poet, host].map((server) => server.close())));

test("the agents of a server are listed, and those at other addresses that it names", async () => {
  const allowed = ["--allow", "127.0.0.1"];
  const all = await runCli(["agents", ...allowed], { env: { CONVOKE_URL: host.url } });
  const text = await runCli(["agents", host.url, ...allowed, "--text", "friend"]);
  const json = await runCli(["agents", host.url, "--json", "--tag", "poetry", "--skill", "rhyme"]);

  expect(all).toMatchObject({ code: 0, stderr: "" });
  expect(all.stdout).toMatch(/^ID +NAME +URL +SKILLS\nbard +Bard +http.*agents\/bard +rhyme, tr/);
  expect(all.stdout).toContain(`poet  Our friend  ${poet.url}`);
  expect(text.stdout).not.toContain("Bard");
  expect(JSON.parse(json.stdout)).toMatchObject({ agents: [{ id: "bard" }] });
  expect(json.stderr).toContain(`The card of ${poet.url} could not be read: `);
});

test("a search that nothing matches says so, and so does a server without a list", async () => {
  const other = await startFakeAgent({});

  const none = await runCli(["agents", poet.url, "--skill", "cook"]);
  const unknown = await runCli(["agents", other.url]);

  expect(none).toMatchObject({ code: 0, stdout: "", stderr: "No agent of this server matches.\n" });
  expect(unknown.code).toBe(3);
  expect(unknown.stderr).toContain(`The server at ${other.url} lists no agents`);
});

test("a command of the removed registry is a wrong command line that names what to use instead", async () => {
  const { code, stderr } = await runCli(["agents", "search", host.url, "--skill", "rhyme"]);

  expect(code).toBe(2);
  expect(stderr).toContain("convoke agents search was removed: there is no registry");
  expect(stderr).toContain("convoke agents <url> searches that list.");
});
