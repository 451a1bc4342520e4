import { storedSignIn } from "convoke";
import { expect, test } from "vitest";
import { runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { World } from "../mcp/a-world.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { Person } from "./a-person.ts";
import { ROBOT, useProvider } from "./a-provider.ts";
import { anMcpServer } from "./an-mcp-server.ts";

const provider = useProvider();

test("an MCP server is used with the agent's own credentials, by a token that is for it", async () => {
  const url = await anMcpServer(provider.url);
  const oauth = { ...ROBOT, issuer: provider.url };
  const world = new World({ vault: { url, auth: { oauth } } });

  expect(await world.result("vault__who")).toBe("robot");
  expect(provider.tokenRequests.map(({ form }) => form.get("resource"))).toEqual([url]);
});

test("an MCP server that rejects the agent's own credentials is a status, and the log says why", async () => {
  const url = await anMcpServer(provider.url);
  const oauth = { ...ROBOT, clientSecret: "a wrong secret", issuer: provider.url };
  const world = new World({ vault: { url, auth: { oauth } } });

  expect(await world.names()).toEqual([]);
  expect(world.servers.report()).toMatchObject([{ error: "there is no token for it" }]);
  expect(world.log[0]?.fields["error"]).toMatchObject({
    cause: { kind: "sign-in", message: expect.stringContaining("invalid_client") as unknown },
  });
});

test("an MCP server wants a person to sign in, who does it with convoke login", async () => {
  const url = await anMcpServer(provider.url);
  const env = { HOME: temporaryFolder() };
  const world = new World({ vault: { url, auth: { oauth: storedSignIn(url, env) } } });

  const { outcome } = await world.call("vault__sign_in", {}, { toolCallId: "sign" });
  expect(outcome).toMatchObject({
    kind: "interrupts",
    interrupts: [{ kind: "interrupt:auth", prompt: "The MCP server vault wants you to sign in." }],
  });

  const ann = new Person();
  const { code } = await runCli(["login", url, "--browser", "--issuer", provider.url], {
    env,
    onStderr: (line) => {
      const page = /Open this page: (\S+)/.exec(line)?.[1];
      if (page !== undefined) void ann.open(page);
    },
  });

  expect(code).toBe(0);
  const answers = { "sign-in": "" };
  expect(await world.result("vault__sign_in", {}, { toolCallId: "sign", answers })).toContain(
    "can be used now",
  );
  expect(await world.result("vault__who")).toBe("ann");
});
