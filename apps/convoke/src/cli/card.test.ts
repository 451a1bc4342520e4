import { expect, test } from "vitest";
import { pagesV03, pagesV1, runCli, startFakeAgent } from "./testing/run-cli.suite.ts";

test("a card is shown as a person wants to read it", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1({
      capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: true },
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "bearer" } } },
      skills: [{ id: "greet", name: "Greet", description: "Says hello.", examples: ["Ann"] }],
    }),
  });

  const { code, stdout, stderr } = await runCli(["card", agent.url]);

  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toBe(`Greeter 2.1.0
Greets people by name.

Interfaces
  JSONRPC 1.0  ${agent.url}/

Capabilities
  streaming
  extended agent card

Authentication
  bearer (httpAuth, bearer)

Skills
  Greet: Says hello.
    "Ann"
`);
});

test("an agent that this client cannot speak to still has a card", async () => {
  const agent = await startFakeAgent({
    pages: pagesV03({ url: "https://elsewhere.example", preferredTransport: "GRPC" }),
  });

  const { code, stdout } = await runCli(["card", agent.url, "--token", "secret"]);

  expect(code).toBe(0);
  expect(stdout).toContain("GRPC 0.3  https://elsewhere.example");
});

test("--json is the card as it came, in the version that was asked for", async () => {
  const agent = await startFakeAgent({ pages: pagesV1() });

  const { stdout } = await runCli(["card", agent.url, "--json", "--protocol", "0.3"]);

  expect(JSON.parse(stdout)).toMatchObject({ name: "Greeter", version: "2.1.0" });
  expect(agent.last.headers["a2a-version"]).toBe("0.3");
});

test("colours are for terminals, and not under NO_COLOR", async () => {
  const agent = await startFakeAgent({ pages: pagesV1() });
  const bold = "\u001B[1mGreeter";

  const shown = await runCli(["card", agent.url], { isTerminal: true });
  const plain = await runCli(["card", agent.url], { isTerminal: true, env: { NO_COLOR: "1" } });

  expect(shown.stdout).toContain(bold);
  expect(plain.stdout).not.toContain("\u001B");
});

test("a card cannot steer the terminal", async () => {
  const agent = await startFakeAgent({ pages: pagesV1({ name: "Bad\u001B[2J\u0007", skills: 7 }) });

  const { stdout } = await runCli(["card", agent.url]);

  expect(stdout).toMatch(/^Bad\[2J 2\.1\.0\n/);
});

test("an agent that is not there is exit code 3 and a hint", async () => {
  const agent = await startFakeAgent({});
  await agent.close();

  const { code, stdout, stderr } = await runCli(["card", agent.url]);

  expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  expect(stderr).toMatch(/^Could not reach http:.*ECONNREFUSED.*\nIs the agent running/);
});

test("no card is exit code 3 and says where it was looked for", async () => {
  const agent = await startFakeAgent({});

  const { code, stderr } = await runCli(["card", agent.url]);

  expect(code).toBe(3);
  expect(stderr).toContain(`${agent.url}/.well-known/agent.json answered 404 Not Found`);
});
