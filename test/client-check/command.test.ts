import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Results } from "@convoke/check";
import { describe, expect, test } from "vitest";
import { runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { readXml } from "../check/xml.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";

const ONE = ["--binding", "jsonrpc", "--a2a-version", "1.0"];

/** Sends a message over JSON-RPC and prints the answer. It does not say which version it speaks. */
const CLIENT = `
const { CONVOKE_CARD_URL, CONVOKE_ACTION, CONVOKE_INSTRUCTION } = process.env;
if (CONVOKE_ACTION !== "send") { console.error("only sends"); process.exit(77); }
if (!CONVOKE_INSTRUCTION.includes("hello")) process.exit(1);
const card = await (await fetch(CONVOKE_CARD_URL)).json();
const message = { messageId: "1", role: "ROLE_USER", parts: [{ text: "hello" }] };
const request = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
const response = await fetch(card.supportedInterfaces[0].url, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(request),
});
const { result, error } = await response.json();
if (error) throw new Error(error.message);
console.log(result.task.artifacts[0].parts[0].text);
`;

/** Visits no agent, and reports what the list of probes says. */
const DRIVER = `
const { probes } = await (await fetch(process.env.CONVOKE_PROBES_URL)).json();
for (const { resultUrl, cardUrl } of probes) {
  await fetch(cardUrl);
  await fetch(resultUrl, { method: "POST", body: JSON.stringify({ text: "Grüße, Welt 🦉." }) });
}
`;

test("--run runs the client once for each probe, and reports what it did", async () => {
  const names = ["task", "error", "version-header", "no-invented-context", "stream-method"];
  const only = names.map((name) => `v1-client.${name}`).join(",");
  const folder = temporaryFolder();
  const run = await script(folder, "client.mjs", CLIENT);
  const files = ["--junit", join(folder, "a.xml"), "--markdown", join(folder, "a.md")];
  const args = ["check", "--client", ...ONE, "--only", only, "--run", run, "--jobs", "2"];

  const { code, stdout } = await runCli([...args, ...files]);

  expect(code).toBe(1);
  expect(stdout).toMatch(/WHERE +PASSED +FAILED +NOT TESTED\nJSONRPC 1\.0 +3 +1 \(1 MUST\) +1\n/);
  expect(stdout).toContain("  FAILED  v1-client.version-header  MUST  1.0 §3.6.1\n");
  expect(stdout).toMatch(/ {10}sent {6}POST \/rpc \{"jsonrpc"/);
  expect(stdout).toContain("          expected  the header A2A-Version: 1.0\n");
  expect(stdout).toContain("   1  the client does not support this: only sends\n");
  expect(stdout).toMatch(/3 passed, 1 failed, 1 not tested: 1 MUST\n$/);
  const xml = readXml(await readFile(join(folder, "a.xml"), "utf8"));
  expect(xml.attributes).toMatchObject({ tests: "5", failures: "1", skipped: "1" });
  const markdown = await readFile(join(folder, "a.md"), "utf8");
  expect(markdown).toContain("| JSONRPC 1.0 | 3 | 1 | 1 |\n");
  expect(markdown).toContain("**v1-client.version-header** (MUST, 1.0 §3.6.1):");
});

test("--driver runs one command, which visits all probes and reports the results", async () => {
  const driver = await script(temporaryFolder(), "driver.mjs", DRIVER);
  const args = ["check", "--client", ...ONE, "--only", "v1-client.task,v1-client.other-id"];

  const { code, stdout } = await runCli([...args, "--driver", driver, "--json"]);

  const { sections, failures } = JSON.parse(stdout) as Results;
  expect(sections[0]?.results.map(({ outcome }) => outcome)).toEqual(["passed", "failed"]);
  expect(failures).toEqual({ MUST: 0, SHOULD: 1, MAY: 0 });
  expect(code).toBe(0);
});

describe("without a command", () => {
  const args = ["check", "--client", ...ONE, "--only", "v1-client.task"];

  test("the list of probes is shown, and the session ends when all have been visited", async () => {
    let shown = "";
    const ready = Promise.withResolvers<void>();
    const running = runCli([...args, "--port", "0"], {
      onStderr: (text) => {
        shown += text;
        if (shown.includes("Send the message")) ready.resolve();
      },
    });
    await ready.promise;
    const listUrl = /http:\S+\/probes\.json/.exec(shown)?.[0] ?? "";
    const { probes } = (await (await fetch(listUrl)).json()) as {
      readonly probes: readonly { readonly cardUrl: string; readonly resultUrl: string }[];
    };
    const [probe] = probes;
    const report = (body: object) =>
      fetch(probe!.resultUrl, { method: "POST", body: JSON.stringify(body) });
    const rejected = await report({ words: "none" });
    await report({ error: "out of order" });

    const { code, stdout } = await running;

    expect(shown).toContain(probe!.cardUrl);
    expect(rejected.status).toBe(400);
    expect(code).toBe(1);
    expect(stdout).toContain('the client reported the error "out of order"');
  });

  test("--wait ends the session; nothing tested is not the same as passed", async () => {
    const { code, stdout, stderr } = await runCli([...args, "--wait", "0.1"]);

    expect(code).toBe(3);
    expect(stdout).toContain("   1  not visited\n");
    expect(stderr).toContain("No probe was tested");
  });

  test("Ctrl+C ends the session, and the report follows", async () => {
    let interrupt = (): void => undefined;

    const { code, stdout } = await runCli(args, {
      onInterrupt: (handler) => (interrupt = handler),
      onStderr: (text) => text.includes("The list of probes") && interrupt(),
    });

    expect(stdout).toContain("0 passed, 0 failed, 1 not tested");
    expect(code).toBe(3);
  });
});

test.each([
  [["--client", "http://a.test"], "--client takes no address."],
  [["--client", "--run", "a", "--driver", "b"], "--run and --driver cannot be combined."],
  [["--client", "--slow", "x"], "--slow is for the check of a server, without --client."],
  [["--client", "--port", "x"], '--port must be a number from 0 to 65535, not "x".'],
  [["--client", "--only", "v1-client.tasks"], 'there is no probe or requirement "v1-client.tasks"'],
  [["--client", "--wait", "soon"], "--wait must be a number of seconds"],
  [["http://a.test", "--run", "x"], "--run requires --client."],
])("check %j is rejected", async (args, sentence) => {
  const { code, stderr } = await runCli(["check", ...args]);

  expect(code).toBe(2);
  expect(stderr).toContain(sentence);
});

/** The command line that runs a script. */
async function script(folder: string, name: string, source: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, source);
  return `"${process.execPath}" "${file}"`;
}
