import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CardKey, generateCardKey, publicKeySet, signCard } from "@convoke/protocol";
import { defineAgent } from "@convoke/runtime";
import { describe, expect, onTestFinished, test } from "vitest";
import { serve } from "../host/serve-agent.ts";
import { json, pagesV03, pagesV1, runCli, startFakeAgent } from "./testing/run-cli.suite.ts";
import { serveDemo } from "./testing/serve-demo.suite.ts";

test("a card is shown in a readable form", async () => {
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

test("the card at the root of a server with several agents is followed by their addresses", async () => {
  const agent = (name: string) => defineAgent({ name, description: "Greets.", run: () => "hi" });
  await using server = await serve([agent("Ann"), agent("Bob")], { port: 0, data: "memory" });

  const root = await runCli(["card", server.url]);
  const below = await runCli(["card", `${server.url}agents/bob`]);

  expect(root.stdout).toMatch(/^Ann /);
  expect(root.stdout).toMatch(
    new RegExp(
      `\nAgents that this server lists\n  ${server.url}agents/ann\n  ${server.url}agents/bob\n$`,
    ),
  );
  expect(below.stdout).toMatch(/^Bob /);
  expect(below.stdout).not.toContain("Agents that this server lists");
});

test("the card of an agent that this client cannot call is still shown", async () => {
  const agent = await startFakeAgent({
    pages: pagesV03({ url: "https://elsewhere.example", preferredTransport: "GRPC" }),
  });

  const { code, stdout } = await runCli(["card", agent.url, "--token", "secret"]);

  expect(code).toBe(0);
  expect(stdout).toContain("GRPC 0.3  https://elsewhere.example");
});

test("--json prints the card unchanged, in the requested version", async () => {
  const agent = await startFakeAgent({ pages: pagesV1() });

  const { stdout } = await runCli(["card", agent.url, "--json", "--a2a-version", "0.3"]);

  expect(JSON.parse(stdout)).toMatchObject({ name: "Greeter", version: "2.1.0" });
  expect(agent.last.headers["a2a-version"]).toBe("0.3");
});

test("colours are used on terminals, except with NO_COLOR", async () => {
  const agent = await startFakeAgent({ pages: pagesV1() });
  const bold = "\u001B[1mGreeter";

  const shown = await runCli(["card", agent.url], { isTerminal: true });
  const plain = await runCli(["card", agent.url], { isTerminal: true, env: { NO_COLOR: "1" } });

  expect(shown.stdout).toContain(bold);
  expect(plain.stdout).not.toContain("\u001B");
});

test("a card cannot control the terminal", async () => {
  const agent = await startFakeAgent({ pages: pagesV1({ name: "Bad\u001B[2J\u0007", skills: 7 }) });

  const { stdout } = await runCli(["card", agent.url]);

  expect(stdout).toMatch(/^Bad\[2J 2\.1\.0\n/);
});

test("an unreachable agent is exit code 3 and a hint", async () => {
  const agent = await startFakeAgent({});
  await agent.close();

  const { code, stdout, stderr } = await runCli(["card", agent.url]);

  expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  expect(stderr).toMatch(/^Could not reach http:.*ECONNREFUSED.*\nIs the agent running/);
});

test("a missing card is exit code 3 with the URLs that were tried", async () => {
  const agent = await startFakeAgent({});

  const { code, stderr } = await runCli(["card", agent.url]);

  expect(code).toBe(3);
  expect(stderr).toContain(`${agent.url}/.well-known/agent.json answered 404 Not Found`);
});

describe("--verify", () => {
  async function aKey(): Promise<CardKey> {
    const { kid, privateKey } = await generateCardKey("ES256");
    return { kid, privateKey, alg: "ES256" };
  }

  function fileWith(content: unknown): string {
    const folder = mkdtempSync(join(tmpdir(), "convoke-keys-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, "keys.json");
    writeFileSync(file, JSON.stringify(content));
    return file;
  }

  test("shows the key, the algorithm and the coverage of a signature", async () => {
    const key = await aKey();
    const { url } = await serveDemo({ card: { keys: [key] } });

    const args = ["card", url, "--verify", "--trust-key", fileWith(publicKeySet([key]))];
    const { code, stdout, stderr } = await runCli(args);
    const forPrograms = await runCli([...args, "--json"]);

    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe(`The card at ${url}/.well-known/agent-card.json has a valid signature.

  Key        ${key.kid}
  Algorithm  ES256
  Form       spec (all fields of the card, in the 1.0 format)
`);
    expect(JSON.parse(forPrograms.stdout)).toEqual({
      verified: true,
      cardUrl: `${url}/.well-known/agent-card.json`,
      keyId: key.kid,
      algorithms: ["ES256"],
      form: "spec",
    });
  });

  test("accepts a key that the card refers to", async () => {
    const key = await aKey();
    const keys = publicKeySet([key]);
    const cards: object[] = [];
    const agent = await startFakeAgent({
      pages: {
        "/.well-known/agent-card.json": () => json(cards[0]),
        "/keys.json": () => json(keys),
      },
    });
    const plain = JSON.parse(pagesV1()["/.well-known/agent-card.json"]?.(agent.url).body ?? "");
    cards.push(await signCard(plain as object, [{ ...key, jku: `${agent.url}/keys.json` }]));

    const { code, stdout } = await runCli(["card", agent.url, "--verify"]);

    expect(code).toBe(0);
    expect(stdout).toContain(`Key        ${key.kid}\n`);
  });

  test("shows how to trust an unknown key", async () => {
    const { url } = await serveDemo({ card: { keys: [await aKey()] } });

    const { code, stderr } = await runCli(["card", url, "--verify"]);

    expect(code).toBe(1);
    expect(stderr).toContain("--trust-key <file> names the keys that you trust");
  });

  test("with --trust-key accepts no other key", async () => {
    const [key, other] = [await aKey(), await aKey()];
    const { url } = await serveDemo({ card: { keys: [key] } });
    const verify = (keys: unknown) =>
      runCli(["card", url, "--verify", "--trust-key", fileWith(keys)]);

    expect((await verify(publicKeySet([key]))).code).toBe(0);
    expect((await verify(publicKeySet([key]).keys[0])).code).toBe(0);
    const { code, stdout, stderr } = await verify(publicKeySet([other]));
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("is by the unknown key");
  });

  test("is exit code 1 for an unsigned card, also in JSON", async () => {
    const { url } = await serveDemo();

    const { code, stdout, stderr } = await runCli(["card", url, "--verify"]);
    const forPrograms = await runCli(["card", url, "--verify", "--json"]);

    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("is not signed as required: has no signature");
    expect(forPrograms.code).toBe(1);
    expect(JSON.parse(forPrograms.stderr)).toMatchObject({ error: { kind: "bad-signature" } });
  });

  test("and --require-signature calls no other agent", async () => {
    const key = await aKey();
    const signed = await serveDemo({ card: { keys: [key] } });
    const unsigned = await serveDemo();

    const demands = ["--require-signature", "--trust-key", fileWith(publicKeySet([key]))];

    const spoken = await runCli(["send", signed.url, "message", ...demands]);
    const refused = await runCli(["send", unsigned.url, "message", ...demands]);

    expect(spoken.code).toBe(0);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect((await unsigned.agent.list()).tasks).toEqual([]);
  });

  test.each([
    [{ kty: "EC", kid: "k", d: "private" }, "contains a private key; use the public key."],
    [{ kty: "EC" }, "contains no public key (JWK) with kid and kty."],
    [[], "contains no public key (JWK) with kid and kty."],
    [null, "contains no public key (JWK) with kid and kty."],
  ])("rejects %j as a key", async (keys, problem) => {
    const file = fileWith(keys);

    const { code, stderr } = await runCli(["card", "http://127.0.0.1:1", "--trust-key", file]);

    expect(code).toBe(2);
    expect(stderr).toContain(`--trust-key ${file} ${problem}`);
  });

  test("rejects a file that does not exist", async () => {
    const { code, stderr } = await runCli(["card", "http://127.0.0.1:1", "--trust-key", "/no/key"]);

    expect(code).toBe(2);
    expect(stderr).toContain("--trust-key /no/key cannot be read (ENOENT).");
  });
});

test("--extended shows the card for authenticated callers", async () => {
  const { url } = await serveDemo({
    token: "s3cret",
    extendedCard: async () => ({ description: "For you alone." }),
  });

  const known = await runCli(["card", url, "--extended", "--token", "s3cret"]);
  const unknown = await runCli(["card", url, "--extended"]);

  expect(known.code).toBe(0);
  expect(known.stdout).toContain("For you alone.");
  expect(unknown.code).toBe(3);
  expect(unknown.stderr).toContain("The agent requires credentials");
});
