import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import {
  AGENT_DIAGNOSES,
  DATABASE_DIAGNOSES,
  MACHINE_DIAGNOSES,
} from "../../apps/convoke/src/doctor/diagnoses.ts";
import { listenOn } from "../check/peer-server.ts";
import { type Asked, type Spoiler, json, startSpoiler } from "../check/spoiling-proxy.ts";

let spoiler: Spoiler;
beforeAll(async () => {
  spoiler = await startSpoiler({ card: { bindings: ["JSONRPC"] } });
});
afterAll(() => spoiler.close());

/** Gives the card another field. */
function withField(name: string, value: unknown): string {
  return spoiler.spoil({
    answer: (answered, { path }) =>
      path.startsWith("/.well-known/")
        ? { ...answered, body: json(answered.body, (card: object) => ({ ...card, [name]: value })) }
        : answered,
  });
}

const TWINS = ["\u001B[31mred", "\u001B[31mred"].map((id) => ({
  id,
  name: "Twin",
  description: "Twice.",
  tags: [],
}));

describe("convoke doctor <url>", () => {
  test("lists what is fine and exits with 0 if nothing is wrong", async () => {
    const { code, stdout } = await runCli(["doctor", spoiler.spoil({})]);

    expect(code).toBe(0);
    expect(stdout).toContain("✓ The card has all required fields");
    expect(stdout).toContain("0 problems, 0 warnings");
  });

  test("shows what was seen, why it matters and the fix, and exits with 1", async () => {
    const { code, stdout } = await runCli(["doctor", withField("skills", TWINS)]);

    expect(code).toBe(1);
    expect(stdout).toMatch(/✗ card-duplicate-skills {2}http\S+\n +seen .+\n +why .+\n +fix .+\n/);
    expect(stdout).not.toContain("\u001B");
  });

  test("prints the same as JSON", async () => {
    const { code, stdout } = await runCli(["doctor", withField("skills", TWINS), "--json"]);

    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      verdict: "problems",
      diagnoses: [{ id: "card-duplicate-skills", severity: "problem" }],
    });
  });

  test("exits with 1 if the given credentials are rejected", async () => {
    const securitySchemes = { token: { type: "http", scheme: "bearer" } };
    const url = spoiler.spoil({
      answer: (answered, { path }) =>
        path.startsWith("/.well-known/")
          ? {
              ...answered,
              body: json(answered.body, (card: object) => ({
                ...card,
                securitySchemes,
                security: [{ token: [] }],
              })),
            }
          : { ...answered, status: 401, headers: { "www-authenticate": "Bearer" }, body: "" },
    });

    const { code, stdout } = await runCli(["doctor", url, "--token", "wrong"]);

    expect(code).toBe(1);
    expect(stdout).toContain("credentials-rejected");
  });

  test("exits with 3 if the agent cannot be examined", async () => {
    const { code, stdout } = await runCli(["doctor", "http://127.0.0.1:1"]);

    expect(code).toBe(3);
    expect(stdout).toContain("✗ connection-refused");
  });

  test("shows its steps at a terminal and removes them", async () => {
    const { stderr } = await runCli(["doctor", spoiler.spoil({})], { isTerminal: true });

    expect(stderr).toContain("… reading http");
    expect(stderr.endsWith("\r\u001B[2K")).toBe(true);
  });

  test("sends no message with --no-send", async () => {
    const asked: Asked[] = [];
    const url = spoiler.spoil({ instead: (each) => void asked.push(each) });

    const { code } = await runCli(["doctor", url, "--no-send"]);

    expect(code).toBe(0);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter(({ body }) => /Send|message\//.test(body))).toEqual([]);
  });

  test("sends credentials to the origin of the address and to no other", async () => {
    const seen: (string | undefined)[] = [];
    const other = await listenOn(({ headers }, response) => {
      seen.push(headers.authorization);
      response.end();
    });
    onTestFinished(other.close);
    const interfaces = [{ url: other.url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
    const url = withField("supportedInterfaces", interfaces);

    await runCli(["doctor", url, "--token", "secret", "--allow", "127.0.0.1"]);

    expect(seen.length).toBeGreaterThan(0);
    expect(new Set(seen)).toEqual(new Set([undefined]));
  });

  test.each([
    [["http://a.test", "--no-send", "--slow", "x"], "--no-send cannot be combined"],
    [["http://a.test", "--origin", "app"], "--origin must be an origin"],
    [["http://a.test", "--timeout", "0"], "--timeout must be a number"],
    [["agent.example"], '"agent.example" is neither an address'],
    [["http://a.test", "more"], '"more" is an unexpected argument'],
  ])("rejects the command line %j", async (args, message) => {
    const { code, stderr } = await runCli(["doctor", ...args]);

    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

test("the guide explains every diagnosis", () => {
  const file = new URL("../../docs/guide/doctor.md", import.meta.url);
  const rows = [...readFileSync(file, "utf8").matchAll(/^\| `([a-z0-9-]+)` +\| (.+?) +\|$/gm)];
  const all = { ...AGENT_DIAGNOSES, ...MACHINE_DIAGNOSES, ...DATABASE_DIAGNOSES };

  expect(rows.map(([, id, fix]) => [id, fix])).toEqual(
    Object.entries(all).map(([id, { fix }]) => [id, fix]),
  );
});
