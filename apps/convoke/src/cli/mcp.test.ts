import { expect, test } from "vitest";
import { runCli } from "./testing/run-cli.suite.ts";

test.each([
  [[], "The address or the file of the agent is missing. See: convoke mcp --help\n"],
  [["a.ts", "b.ts"], '"b.ts" is an unexpected argument. See: convoke mcp --help\n'],
  [["ftp://x"], '"ftp://x" is not an http or https address. See: convoke mcp --help\n'],
  [
    ["localhost:3000"],
    "There is no file localhost:3000. If it is an address, try http://localhost:3000 See: convoke mcp --help\n",
  ],
  [
    ["http://x", "--data", "d"],
    "--data can only be used with a file, but http://x is not one. See: convoke mcp --help\n",
  ],
  [
    ["a.ts", "--token", "t"],
    "--token can only be used with an address, but a.ts is not one. See: convoke mcp --help\n",
  ],
  [
    ["http://x", "--reconnect", "soon"],
    '--reconnect takes a number of seconds, not "soon". See: convoke mcp --help\n',
  ],
])("%j is reported only on stderr", async (args, stderr) => {
  expect(await runCli(["mcp", ...args])).toEqual({ code: 2, stdout: "", stderr });
});

test("its help shows what to write into the configuration of an editor", async () => {
  const { stdout } = await runCli(["mcp", "--help"]);

  const json = stdout.slice(stdout.indexOf("\n  {"));
  expect(JSON.parse(json)).toEqual({
    mcpServers: {
      "my-agent": { command: "npx", args: ["convoke", "mcp", "http://127.0.0.1:3000"] },
    },
  });
});
