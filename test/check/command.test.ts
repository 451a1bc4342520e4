import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createJsonLogger } from "@convoke/engine";
import { printable } from "@convoke/protocol/internal";
import { type ServeAgentOptions, serve } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { checkedAgent, withExamples } from "./check-agent.ts";
import { cardAt } from "./hostile-server.ts";
import { listenOn } from "./peer-server.ts";
import { check, idsOf, resultOf, sectionOf } from "./run-check.ts";
import { serveSpoiled } from "./spoiling-proxy.ts";
import { readXml } from "./xml.ts";

const ESCAPE = "\u001B";
const ONE = ["--binding", "jsonrpc", "--a2a-version", "1.0"];

/** Answers everything with a state that 1.0 does not define, and with control characters. */
const SPOILED = {
  answer: <Said extends { readonly body: string }>(said: Said): Said => ({
    ...said,
    body: said.body.replaceAll("TASK_STATE_COMPLETED", String.raw`<completed> & \"so\" \u001b[31m`),
  }),
};

describe("the text report", () => {
  test("counts by interface, and lists what was not tested and what would help", async () => {
    const { stdout, code } = await runCli(["check", await start(), ...ONE]);

    expect(code).toBe(0);
    expect(stdout).toContain("Checked 1.0.0");
    expect(stdout).toMatch(/WHERE +ADDRESS +PASSED +FAILED +NOT TESTED/);
    expect(stdout).toMatch(/JSONRPC 1\.0 +http:\S+ +\d\d +0 +\d+/);
    expect(stdout).toMatch(/Not tested: \d+ probes\n/);
    expect(stdout).toMatch(/ +\d+ {2}no message keeps the agent busy \(--slow\)\n/);
    expect(stdout).toMatch(/ +\d+ {2}whole interfaces: not selected \(--a2a-version\)\n/);
    expect(stdout).toMatch(/ +\d+ {2}do not apply to this server\n/);
    expect(stdout).not.toContain("v1-S25.cancel");
    expect(stdout).toMatch(/\d+ passed, 0 failed, \d+ not tested\n$/);
    expect(stdout).not.toContain("passed  v1-S8.send");
    expect(stdout).not.toContain(ESCAPE);
  });

  test("lists passed and skipped probes on request", async () => {
    const { stdout } = await runCli(["check", await start(), ...ONE, "--verbose"]);

    expect(stdout).toMatch(/GRPC 0\.3 at \S+\n {2}not tested: not selected \(--a2a-version\)/);
    expect(stdout).toMatch(
      /not tested {2}no message keeps the agent busy \(--slow\)\n.*v1-S25\.cancel/,
    );

    expect(stdout).toContain(
      "  passed  v1-S8.send  The result of a send is either a task or a message.",
    );
  });

  test("describes a failure in full: section, sent, received, expected", async () => {
    const url = await serveSpoiled(SPOILED);

    const { stdout, code } = await runCli(["check", url, ...ONE, "--only", "v1-S44.enums"]);

    expect(code).toBe(1);
    expect(stdout).toContain("  FAILED  v1-S44.enums  MUST  1.0 §5.5\n");
    expect(stdout).toContain("          States and roles use the enum names of the proto.\n");
    expect(stdout).toMatch(/ {10}sent {6}POST http:\S+ \(a2a-version: 1\.0\) \{"jsonrpc"/);
    expect(stdout).toMatch(/ {10}received {2}200 application\/json \{"jsonrpc"/);
    expect(stdout).toContain("          expected  states such as TASK_STATE_COMPLETED");
    expect(stdout).toMatch(/1 failed.*: 1 MUST\n$/);
    expect(stdout).not.toContain(ESCAPE);
  });

  test("contains no control characters from the server", async () => {
    const url = await serveSpoiled({
      answer: (said) => ({
        ...said,
        body: said.body.replaceAll(
          '"artifactId"',
          String.raw`"arti\u001b]0;owned\u0007fact\u009b31m"`,
        ),
      }),
    });
    const only = ["--only", "v1-S44.camel-case,v1-S46.required-fields"];

    const { stdout } = await runCli(["check", url, ...ONE, ...only, "--verbose"]);

    expect(stdout).toContain("FAILED  v1-S44.camel-case");
    expect(stdout).toContain("]0;owned");
    for (const line of stdout.split("\n")) expect(line).toBe(printable(line));
  });

  test("uses the examples on the card to keep the agent busy and to make it ask", async () => {
    const url = await start({}, withExamples);
    const only = ["--only", "v1-S25.cancel,v1-S36.goes-on"];

    const { stdout } = await runCli(["check", url, ...ONE, ...only, "--verbose"]);

    expect(stdout).toContain('messages: --slow "slow 40" --ask "ask"\n');
    expect(stdout).toContain("passed  v1-S25.cancel");
    expect(stdout).toContain("passed  v1-S36.goes-on");
  });

  test("has no failure for a long stream", async () => {
    const url = await start();
    const ids = "v1-S14,v1-S15,v1-S16,v1-S17,v03-S5.resubscribe";

    const { report } = await check(url, "--binding", "jsonrpc", "--slow", "many", "--only", ids);

    expect(idsOf(report, "failed")).toEqual([]);
    expect(idsOf(report, "passed")).toContain("v1-S15.whole");
    expect(idsOf(report, "passed")).toContain("v1-S17.subscribe");
  });

  test("has colours and a progress line on a terminal, and none if NO_COLOR is set", async () => {
    const url = await start();
    const args = ["check", url, ...ONE, "--only", "v1-S8.send"];

    const coloured = await runCli(args, { isTerminal: true });
    const plain = await runCli(args, { isTerminal: true, env: { NO_COLOR: "1" } });
    const piped = await runCli(args);

    expect(coloured.stdout).toContain(`${ESCAPE}[1m`);
    expect(coloured.stderr).toMatch(/\d+\/\d+ {2}JSONRPC 1\.0 {2}v1-S8\.send/);
    expect(coloured.stderr.endsWith(`\r${ESCAPE}[2K`)).toBe(true);
    expect(plain.stdout).not.toContain(ESCAPE);
    expect(piped.stderr).toBe("");
  });
});

describe("the JSON report", () => {
  test("has stable names", async () => {
    const url = await serveSpoiled(SPOILED);

    const { report } = await check(url, ...ONE, "--only", "v1-S44.enums,v1-S4,v1-S25.cancel");

    expect(Object.keys(report)).toEqual([
      "url",
      "cardUrl",
      "agent",
      "messages",
      "sections",
      "counts",
      "failures",
    ]);
    expect(report.failures).toEqual({ MUST: 1, SHOULD: 0, MAY: 0 });
    expect(sectionOf(report, "JSONRPC 1.0")).toMatchObject({
      kind: "interface",
      binding: "jsonrpc",
      version: "1.0",
      counts: { passed: 1, failed: 1, skipped: 1 },
    });
    expect(resultOf(report, "v1-S44.enums")).toEqual({
      id: "v1-S44.enums",
      requirement: "v1-S44",
      level: "MUST",
      section: "1.0 §5.5",
      says: "States and roles use the enum names of the proto.",
      outcome: "failed",
      sent: expect.any(String) as string,
      received: expect.any(String) as string,
      expected: expect.any(String) as string,
      durationMs: expect.any(Number) as number,
    });
    expect(resultOf(report, "v1-S25.cancel").reason).toContain("(option: slow)");
  });

  test("is also available as JUnit, well-formed whatever the server sends", async () => {
    const file = join(temporaryFolder(), "check.xml");
    const url = await serveSpoiled(SPOILED);
    const ids = "v1-S44.enums,v1-S8.send,v1-S25.cancel";

    const { code, stdout } = await runCli(["check", url, ...ONE, "--only", ids, "--junit", file]);
    const suites = readXml(await readFile(file, "utf8"));

    expect(code).toBe(1);
    expect(stdout).toContain("FAILED");
    expect(suites).toMatchObject({ name: "testsuites", attributes: { failures: "1" } });
    const suite = suites.children.find(({ attributes }) =>
      attributes["name"]?.startsWith("JSONRPC 1.0 at "),
    );
    expect(suite?.attributes).toMatchObject({ tests: "4", failures: "1", skipped: "1" });
    expect(suite?.children.map(({ attributes }) => attributes["name"]?.split(" ")[0])).toEqual([
      "v1-S2.answers",
      "v1-S8.send",
      "v1-S44.enums",
      "v1-S25.cancel",
    ]);
    const [failure] = suite?.children[2]?.children ?? [];
    expect(failure).toMatchObject({ name: "failure", attributes: { type: "MUST" } });
    expect(failure?.text).toContain("<completed> &");
    expect(suite?.children[3]?.children[0]).toMatchObject({ name: "skipped" });
  });
});

describe("the exit code", () => {
  test.each([
    ["must", 0],
    ["should", 1],
    ["may", 1],
  ])("at --level %s is %i if a SHOULD has failed", async (level, expected) => {
    const url = await serveSpoiled({
      answer: (said) => ({ ...said, headers: { "content-type": "application/json" } }),
    });

    const { code } = await check(url, ...ONE, "--only", "v1-S4.etag", "--level", level);

    expect(code).toBe(expected);
  });

  test("is 3 if nothing could be tested, which is not the same as passed", async () => {
    const { code, stderr } = await runCli(["check", await start({ token: "a-secret" })]);

    expect(code).toBe(3);
    expect(stderr).toContain("No interface could be tested");
  });

  test.each([
    [["check"], "The address of the agent is missing."],
    [["check", "http://a.test", "hello"], '"hello" is an unexpected argument.'],
    [["check", "http://a.test", "--level", "high"], "--level must be one of must, should, may"],
    [["check", "http://a.test", "--a2a-version", "2.0"], "--a2a-version must be one of 0.3, 1.0"],
    [
      ["check", "http://a.test", "--binding", "soap"],
      "--binding must be one of jsonrpc, rest, grpc",
    ],
    [["check", "http://a.test", "--timeout", "never"], "--timeout must be a number of seconds"],
    [
      ["check", "http://a.test", "--only", "v1-S88"],
      '--only: there is no probe or requirement "v1-S88".',
    ],
    [["check", "http://a.test", "--header", "secret"], '--header must look like "Name: value"'],
    [["check", "http://a.test", "--allow-origin", "a"], "--allow-origin must be an origin"],
    [
      ["check", "http://a.test", "--token", "a b"],
      "The token of --token contains invalid characters",
    ],
  ])("of %j is 2", async (args, sentence) => {
    const { code, stderr } = await runCli(args);

    expect(code).toBe(2);
    expect(stderr).toContain(sentence);
  });

  test("is 2 if the JUnit file cannot be written", async () => {
    const args = [
      "check",
      await start(),
      ...ONE,
      "--only",
      "v1-S8",
      "--junit",
      "/no/such/folder/a",
    ];

    const { code, stderr } = await runCli(args);

    expect(code).toBe(2);
    expect(stderr).toContain("--junit could not be written");
  });
});

describe("credentials", () => {
  test.each([
    ["--token", ["--token", "a-secret"], {}],
    ["--header", ["--header", "Authorization: Bearer a-secret"], {}],
    ["CONVOKE_TOKEN", [], { CONVOKE_TOKEN: "a-secret" }],
  ])("of %s authenticate the check, and are never shown", async (_, options, env) => {
    const url = await start({ token: "a-secret" });

    const { code, stdout } = await runCli(["check", url, ...ONE, "--verbose", ...options], { env });

    expect(code).toBe(0);
    expect(stdout).toContain("passed  v1-S54.wrong-credentials");
    expect(stdout).not.toContain("a-secret");
  });

  test("several headers are sent", async () => {
    const seen: string[] = [];
    const { url, close } = await listenOn(({ headers }, response) => {
      seen.push(`${String(headers["x-key"])} ${String(headers["x-other"])}`);
      response.end("{}");
    });
    onTestFinished(close);

    await runCli(["check", url, "--header", "X-Key: 1", "--header", "X-Other: 2"]);

    expect(new Set(seen)).toEqual(new Set(["1 2"]));
  });

  test("stay with the origin that they were given for, unless another is allowed", async () => {
    const seen: (string | undefined)[] = [];
    const foreign = await listenOn((request, response) => {
      seen.push(request.headers.authorization);
      request.resume();
      response.end("{}");
    });
    onTestFinished(foreign.close);
    const own = await listenOn((_, response) => {
      response.end(JSON.stringify(cardAt(foreign.url, ["JSONRPC"])));
    });
    onTestFinished(own.close);
    const { origin } = new URL(foreign.url);

    const { report, code } = await check(own.url, "--token", "a-secret");
    const untouched = [...seen];
    await check(own.url, "--token", "a-secret", "--allow-origin", origin);

    expect(sectionOf(report, "JSONRPC 1.0").skipped).toBe(
      `${origin} is another origin than that of the card (option: allow-origin)`,
    );
    expect(code).toBe(3);
    expect(untouched).toEqual([]);
    expect(seen).toContain("Bearer a-secret");
  });
});

describe("a selection", () => {
  test("can name requirements, probes, versions and bindings", async () => {
    const url = await start();

    const { report } = await check(url, "--binding", "rest", "--only", "v1-S19,v03-S4.get");

    expect(idsOf(report, "passed", "HTTP+JSON 1.0")).toEqual([
      "v1-S2.answers",
      "v1-S19.get",
      "v1-S19.get-unknown",
    ]);
    expect(idsOf(report, "passed", "HTTP+JSON 0.3")).toEqual(["v03-S3.answers", "v03-S4.get"]);
    expect(sectionOf(report, "JSONRPC 1.0").skipped).toBe("not selected (option: binding)");
  });

  test("can start at the URL of the card itself", async () => {
    const url = new URL("/.well-known/agent-card.json", await start()).href;

    const { report } = await check(url, ...ONE, "--only", "v1-S8,v1-S1");

    expect(idsOf(report, "passed")).toContain("v1-S8.send");
    expect(resultOf(report, "v1-S1.well-known").reason).toBe(
      "the address of the card was given directly",
    );
  });

  test("that the user stops ends immediately", async () => {
    const stop = new AbortController();
    const url = await serveSpoiled({});
    const running = runCli(["check", url, "--slow", "slow", "--ask", "ask"], {
      signal: stop.signal,
    });
    setTimeout(() => stop.abort(), 300);

    expect((await running).code).toBe(130);
  });
});

/** Our server with its tasks in memory. */
async function start(options: ServeAgentOptions = {}, agent = checkedAgent): Promise<string> {
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(agent, { port: 0, data: "memory", logger, ...options });
  onTestFinished(() => server.close());
  return server.url;
}
