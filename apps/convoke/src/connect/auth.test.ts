import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type RunOptions,
  json,
  pagesV1,
  result,
  runCli,
  startFakeAgent,
} from "../cli/testing/run-cli.suite.ts";

const answer = { message: { messageId: "m2", role: "ROLE_AGENT", parts: [{ text: "Hi" }] } };

/** The credentials that the agent receives: when its card is read, and when it is called. */
async function heard(args: readonly string[], options: RunOptions = {}) {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => result(call, answer),
  });
  const finished = await runCli(["send", agent.url, "hi", ...args], options);
  expect(finished.stderr).toBe("a message, without a task\n");
  const [card, call] = agent.seen;
  expect(agent.seen).toHaveLength(2);
  return { card, call };
}

function aHome(): string {
  const home = mkdtempSync(join(tmpdir(), "convoke-home-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

describe("the credentials", () => {
  test.each([
    [["--token", "s3cret"], { authorization: "Bearer s3cret" }],
    [["--api-key", "X-Key=a:b=c"], { "x-key": "a:b=c" }],
    [["--api-key", "X-Key=abc:header"], { "x-key": "abc" }],
    [["--api-key", "session=abc:cookie"], { cookie: "session=abc" }],
    [
      ["--header", "X-Tenant: north", "--header", "X-Team:blue"],
      { "x-tenant": "north", "x-team": "blue" },
    ],
    [
      ["--token", "s3cret", "--header", "X-Tenant: north"],
      { authorization: "Bearer s3cret", "x-tenant": "north" },
    ],
    [["--header", "Authorization: Custom abc"], { authorization: "Custom abc" }],
  ])("%j", async (args, headers) => {
    const { card, call } = await heard(args);

    expect(card?.headers).toMatchObject(headers);
    expect(call?.headers).toMatchObject(headers);
  });

  test("may be a key in the query", async () => {
    const agent = await startFakeAgent({
      pages: {
        "/.well-known/agent-card.json?key=a%26b": pagesV1()["/.well-known/agent-card.json"]!,
      },
      answer: (call) => result(call, answer),
    });

    const { code } = await runCli(["send", agent.url, "hi", "--api-key", "key=a&b:query"]);

    expect(code).toBe(0);
    expect(agent.last.path).toBe("/?key=a%26b");
  });

  test("may be a user name and a password, which is the first piped line", async () => {
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: (call) => result(call, answer),
    });
    const encoded = Buffer.from("ann:pass word").toString("base64");

    await runCli(["send", agent.url, "--basic", "ann"], { stdin: "pass word\nHello\nthere\n" });

    expect(agent.last.headers["authorization"]).toBe(`Basic ${encoded}`);
    expect(agent.last.call?.params["message"]).toMatchObject({ parts: [{ text: "Hello\nthere" }] });
  });

  test("are the same for commands outside A2A", async () => {
    const pages = { "/convoke/pushes?state=dead&key=abc": () => json({ pushes: [] }) };
    const agent = await startFakeAgent({ pages });

    const { code } = await runCli(["push", "list", agent.url, "--api-key", "key=abc:query"]);
    await runCli(["push", "list", agent.url, "--header", "X-Tenant: north", "--token", "s3cret"]);

    expect(code).toBe(0);
    expect(agent.last.headers).toMatchObject({
      "x-tenant": "north",
      authorization: "Bearer s3cret",
    });
  });
});

describe("the order of precedence", () => {
  test("is a flag, then what is stored for the origin, then the environment", async () => {
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: (call) => result(call, answer),
    });
    const env = { HOME: aHome(), CONVOKE_TOKEN: "of-environment" };
    const sent = async (...args: string[]) => {
      await runCli(["send", agent.url, "hi", ...args], { env });
      return agent.last.headers["authorization"];
    };

    expect(await sent()).toBe("Bearer of-environment");
    await runCli(["login", "https://agent.example", "--token", "of-another"], { env });
    expect(await sent()).toBe("Bearer of-environment");
    await runCli(["login", agent.url, "--token", "of-file"], { env });
    expect(await sent()).toBe("Bearer of-file");
    expect(await sent("--header", "X-Tenant: north")).toBe("Bearer of-file");
    expect(await sent("--header", "Authorization: of-header")).toBe("of-header");
    expect(await sent("--token", "of-flag")).toBe("Bearer of-flag");
    expect(await sent("--api-key", "X-Key=abc")).toBeUndefined();
    await runCli(["logout", agent.url], { env });
    expect(await sent()).toBe("Bearer of-environment");
  });
});

describe("the token from the environment", () => {
  /** Reaches the agent at an address that is not loopback by its name. */
  const elsewhere = (url: string) => url.replace("127.0.0.1", "0.0.0.0");

  test("is sent to this machine, under any name", async () => {
    const agent = await startFakeAgent({ pages: pagesV1() });
    const env = { CONVOKE_TOKEN: "s3cret" };

    for (const host of ["127.0.0.1", "localhost", "0x7f000001", "127.1"]) {
      await runCli(["card", agent.url.replace("127.0.0.1", host), "--json"], { env });
      expect(agent.last.headers["authorization"]).toBe("Bearer s3cret");
    }
  });

  test("is sent to no other origin, and a caller that is rejected for it gets a hint", async () => {
    const agent = await startFakeAgent({
      pages: { "/.well-known/agent-card.json": () => ({ status: 401 }) },
    });
    const url = elsewhere(agent.url);

    const { code, stderr } = await runCli(["card", url], { env: { CONVOKE_TOKEN: "s3cret" } });

    expect(code).toBe(3);
    expect(agent.seen.map(({ headers }) => headers["authorization"])).not.toContain(
      "Bearer s3cret",
    );
    expect(agent.seen.length).toBeGreaterThan(0);
    expect(stderr).toContain(`store a token with convoke login ${url}`);
    expect(stderr).toContain(
      `CONVOKE_TOKEN was not sent: it is only for this machine, unless you set CONVOKE_URL=${url}.`,
    );
  });

  test("is sent to the origin of CONVOKE_URL", async () => {
    const agent = await startFakeAgent({ pages: pagesV1() });
    const url = elsewhere(agent.url);
    const env = { CONVOKE_TOKEN: "s3cret", CONVOKE_URL: `${url}/agents/1` };

    await runCli(["card", url, "--json"], { env });
    expect(agent.last.headers["authorization"]).toBe("Bearer s3cret");

    await runCli(["card", url, "--json"], { env: { ...env, CONVOKE_URL: "http://0.0.0.0:1" } });
    expect(agent.last.headers["authorization"]).toBeUndefined();
  });
});

describe("an invalid value", () => {
  test.each([
    [
      ["--token", "a", "--basic", "ann"],
      "--token and --basic both give credentials; use only one.",
    ],
    [
      ["--token", "a", "--header", "authorization: b"],
      "--header Authorization and another flag both give credentials; use only one.",
    ],
    [
      ["--api-key", "key=s3cret:query", "--header", "X-Tenant: a"],
      "--header cannot be combined with an --api-key in the query.",
    ],
    [["--header", "s3cret"], '--header must look like "Name: value".'],
    [["--header", "X-Key:"], "--header X-Key has no value."],
    [
      ["--header", "X-Key: s3cret\nX: y"],
      "--header X-Key contains characters that are invalid in a header.",
    ],
    [["--header", "Host: s3cret"], "--header Host is set by the client itself; remove it."],
    [["--header", "A: 1", "--header", "a: 2"], "--header a is given twice."],
    [
      ["--header", "X(): s3cret"],
      '--header "X()" contains characters that are invalid in a header name.',
    ],
    [["--api-key", "s3cret"], "--api-key must look like name=value or name=value:query."],
    [
      ["--api-key", "k=s3cret:qery"],
      "--api-key must be sent as header, query or cookie. Did you mean query?",
    ],
    [
      ["--api-key", "k=s3;cret:cookie"],
      "--api-key k contains characters that are invalid in a cookie.",
    ],
    [["--api-key", "k=:query"], "--api-key k has no value."],
    [["--basic", "ann:s3cret"], "--basic takes only the user name; the password is prompted for."],
    [["--basic", "ann"], "The password is missing: type it when asked, or pipe it in as one line."],
  ])("%j is rejected, and no secret is repeated", async (args, problem) => {
    const { code, stderr } = await runCli(["send", "http://127.0.0.1:1", "hi", ...args]);

    expect({ code, stderr }).toEqual({ code: 2, stderr: `${problem} See: convoke send --help\n` });
    expect(stderr).not.toContain("s3cret");
  });

  test("a password in the URL is rejected with the flag for it", async () => {
    const { code, stderr } = await runCli(["card", "http://ann:s3cret@127.0.0.1:1"]);

    expect(code).toBe(2);
    expect(stderr).toContain("use --basic <user> instead");
    expect(stderr).not.toContain("s3cret");
  });
});
