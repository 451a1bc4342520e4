import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { Command } from "../terminal/command.ts";
import { COMMANDS } from "./commands.ts";
import { runCli } from "./testing/run-cli.suite.ts";

test.each([[[]], [["help"]], [["--help"]], [["-h"]]])("%j shows the overview", async (args) => {
  const { code, stdout, stderr } = await runCli(args);

  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("Usage: convoke <command>");
  expect(stdout).toMatch(/^ {2}send +Send a message/m);
  expect(stdout).toMatch(/^ {2}4 +the agent is waiting/m);
});

test.each([[["help", "tasks"]], [["tasks", "--help"]], [["tasks", "http://x", "-h", "--jsn"]]])(
  "%j shows the help of the command",
  async (args) => {
    const { code, stdout } = await runCli(args);

    expect(code).toBe(0);
    expect(stdout).toContain("Usage: convoke tasks <url> [[task] --watch] [options]");
    expect(stdout).toMatch(/^ {2}--limit <n> +Maximum number of tasks/m);
    expect(stdout).toMatch(/^ {2}-h, --help +Show this help/m);
    expect(stdout).toContain("  convoke tasks http://127.0.0.1:3000 --state input-required\n");
  },
);

test.each([[["push"]], [["help", "push"]], [["push", "--help"]], [["push", "-h"]]])(
  "%j shows the commands of the group",
  async (args) => {
    const { code, stdout, stderr } = await runCli(args);

    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("Usage: convoke push <command> [options]");
    expect(stdout).toMatch(/^ {2}push list +List push configs/m);
    expect(stdout).toMatch(/^ {2}push replay +Retry failed/m);
  },
);

test.each([[["help", "push", "replay"]], [["push", "replay", "--help"]]])(
  "%j shows the help of a command in a group",
  async (args) => {
    const { code, stdout } = await runCli(args);

    expect(code).toBe(0);
    expect(stdout).toContain("Usage: convoke push replay <url> [options]");
    expect(stdout).toMatch(/^ {2}--id <config> +Only those/m);
    expect(stdout).not.toContain("--a2a-version");
  },
);

test("every command has help with valid examples, and all that call an agent say what is sent where", async () => {
  const loaded = await Promise.all([...COMMANDS.values()].map((load) => load()));
  const commands = loaded.flatMap((entry) => ("commands" in entry ? entry.commands : [entry]));
  expect(loaded.map(({ name }) => name)).toEqual([...COMMANDS.keys()]);
  for (const command of commands) {
    const { code, stdout } = await runCli(["help", ...command.name.split(" ")]);

    expect(code).toBe(0);
    expect(command.examples.length).toBeGreaterThan(0);
    for (const example of command.examples) expect(stdout).toContain(`  ${example}\n`);
    if ("token" in command.options && "basic" in command.options) {
      expect(stdout).toMatch(
        /^ {2}CONVOKE_TOKEN +.*to this machine and to the origin of CONVOKE_URL/m,
      );
    }
  }
  expect(commands.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["chat", "cancel", "push set", "login", "logout", "credentials"]),
  );
});

test("the help of serve lists its environment variables", async () => {
  const { stdout } = await runCli(["serve", "--help"]);

  expect(stdout).toMatch(/\n\nEnvironment\n(?: {2}[A-Z_0-9]+ {2,}\S.*\n)+\nExamples\n/);
  expect(stdout).toMatch(/^ {2}CONVOKE_LIMITS +.*parts=10,openTasks=5$/m);
});

test("serve takes several agents, and names the first file that is missing", async () => {
  const { code, stderr } = await runCli(["serve", "a.ts", "b.ts"]);

  expect(code).toBe(5);
  expect(stderr).toBe("There is no file a.ts.\n");
});

test("--version is the version of the package", async () => {
  const file = new URL("../../package.json", import.meta.url);
  const { version } = JSON.parse(await readFile(file, "utf8")) as { version: string };

  expect(await runCli(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
});

test.each([
  [["sned"], 'Unknown command "sned". Did you mean send? See: convoke help\n'],
  [["xyzzy"], 'Unknown command "xyzzy". See: convoke help\n'],
  [["help", "steam"], 'Unknown command "steam". Did you mean stream? See: convoke help\n'],
  [["--verbose"], "Unknown option --verbose. See: convoke help\n"],
  [
    ["send", "http://x", "hi", "--jsno"],
    "Unknown option '--jsno'. Did you mean --json? See: convoke send --help\n",
  ],
  [
    ["send", "http://x", "hi", "--token"],
    "Option '--token <value>' argument missing. See: convoke send --help\n",
  ],
  [
    ["send", "http://x", "hi", "--json=yes"],
    "Option '--json' does not take an argument. See: convoke send --help\n",
  ],
  [["card"], "The address of the agent is missing. See: convoke card --help\n"],
  [
    ["card", "localhost:3000"],
    '"localhost:3000" is not an http or https address. Try http://localhost:3000 See: convoke card --help\n',
  ],
  [["card", "http://x", "y"], '"y" is an unexpected argument. See: convoke card --help\n'],
  [["send", "http://x"], "The text for the agent is missing. See: convoke send --help\n"],
  [
    ["send", "http://x", "good", "day"],
    'Put quotes around the text: "good day". See: convoke send --help\n',
  ],
  [
    ["send", "http://x", "hi", "--a2a-version", "2"],
    '--a2a-version must be 0.3 or 1.0, not "2". See: convoke send --help\n',
  ],
  [
    ["stream", "http://x", "hi", "--after", "3"],
    "--after needs --resume <task>. See: convoke stream --help\n",
  ],
  [
    ["stream", "http://x", "hi", "--resume", "t1"],
    '"hi" is an unexpected argument. See: convoke stream --help\n',
  ],
  [
    ["stream", "http://x", "--resume", "t1", "--task", "t1"],
    "--resume cannot be combined with --task or --context. See: convoke stream --help\n",
  ],
  [
    ["card", "http://x", "--token", "two\nlines"],
    "The token of --token contains invalid characters. See: convoke card --help\n",
  ],
  [
    ["tasks", "http://x", "--limit", "0"],
    '--limit must be a number from 1 to 100, not "0". See: convoke tasks --help\n',
  ],
  [
    ["push", "lst", "http://x"],
    'Unknown command "push lst". Did you mean push list? See: convoke push --help\n',
  ],
  [["push", "xyzzy"], 'Unknown command "push xyzzy". See: convoke push --help\n'],
  [["push", "--verbose", "list"], "Unknown option --verbose. See: convoke push --help\n"],
  [["push", "list"], "The address of the agent is missing. See: convoke push list --help\n"],
  [
    ["push", "list", "http://x", "--state", "daed"],
    '--state must be one of dead, active, done, not "daed". Did you mean dead? See: convoke push list --help\n',
  ],
  [
    ["push", "replay", "http://x", "t1"],
    '"t1" is an unexpected argument. See: convoke push replay --help\n',
  ],
  [
    ["tasks", "http://x", "t1", "t2", "--watch"],
    '"t2" is an unexpected argument. See: convoke tasks --help\n',
  ],
  [["tasks", "http://x", "", "--watch"], "The task id is empty. See: convoke tasks --help\n"],
  [
    ["tasks", "http://x", "--watch", "--state", "working"],
    "--watch cannot be combined with --state. See: convoke tasks --help\n",
  ],
  [
    ["watch", "http://x"],
    "convoke watch is convoke tasks <url> [task] --watch now. See: convoke help\n",
  ],
  [
    ["tasks", "http://x", "--state", "workin"],
    expect.stringMatching(/^--state must be one of submitted, .*Did you mean working\?/),
  ],
])("%j is rejected in one sentence with exit code 2", async (args, stderr) => {
  expect(await runCli(args)).toEqual({ code: 2, stdout: "", stderr });
});

test("after -- everything is text", async () => {
  const seen: string[] = [];
  const echo: Command = {
    name: "echo",
    summary: "Says it again",
    usage: '"text"',
    examples: [],
    options: {},
    run: async ({ positionals }) => {
      seen.push(...positionals);
      return 0;
    },
  };

  await runCli(["echo", "--", "--help"], { commands: [echo] });

  expect(seen).toEqual(["--help"]);
});

test("a bug of ours is reported with its stack", async () => {
  const broken: Command = {
    name: "broken",
    summary: "Fails",
    usage: "",
    examples: [],
    options: {},
    run: async () => {
      throw new RangeError("a bug");
    },
  };

  await expect(runCli(["broken"], { commands: [broken] })).rejects.toThrow("a bug");
});

test.each([
  ["--nats", "servers on one database notify each other by the database"],
  ["--workers", "start one server per core instead"],
])("the removed option %s ends the start and says what to do instead", async (option, sentence) => {
  const { code, stdout, stderr } = await runCli(["serve", option, "value"]);

  expect({ code, stdout }).toEqual({ code: 5, stdout: "" });
  expect(stderr).toMatch(/^[^\n]+\n$/);
  expect(stderr).toContain(sentence);
});
