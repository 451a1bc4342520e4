import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { verifies } from "../verifies.ts";
import { DIALECTS } from "../wire/dialect.ts";
import { WireClient } from "../wire/wire-client.ts";
import { writeAgent } from "./agent-file.ts";
import { type ConvokeOptions, serveConvoke, startConvoke } from "./convoke-process.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** What a server that failed to start leaves for a script to check. */
const NOT_STARTED = 5;

/** The same, if the next start may succeed. */
const NOT_STARTED_NOW = 6;

/** The only line that a server prints if it cannot start. */
async function refusal(options: ConvokeOptions, expected = NOT_STARTED): Promise<string> {
  const { code, stdout, stderr } = await startConvoke(options).ended;
  expect({ code, stdout }).toEqual({ code: expected, stdout: "" });
  expect(stderr).toMatch(/^[^\n]+\n$/);
  return stderr.trimEnd();
}

/** A folder that this user cannot write to. Root can write everywhere but to what the kernel shows. */
function unwritableFolder(): string {
  if (process.getuid?.() === 0) return "/sys/kernel";
  const folder = join(temporaryFolder(), "data");
  mkdirSync(folder);
  chmodSync(folder, 0o555);
  return folder;
}

/** A port that is in use for as long as the test runs. */
async function takenPort(): Promise<number> {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  onTestFinished(() => void other.close());
  return (other.address() as AddressInfo).port;
}

describe("the port", () => {
  test("one that is in use is named, with the next one to try", async () => {
    const port = await takenPort();

    const sentence = await refusal(
      { cwd: temporaryFolder(), env: { PORT: `${port}` } },
      NOT_STARTED_NOW,
    );

    expect(sentence).toBe(`Port ${port} is in use. Try: npx convoke serve --port ${port + 1}`);
  });

  test.each([
    [
      { npm_lifecycle_event: "start", npm_lifecycle_script: "convoke serve" },
      "npm start -- --port",
    ],
    [
      { npm_lifecycle_event: "", npm_lifecycle_script: "" },
      "convoke.js serve --data memory --port",
    ],
  ])("the next one to try is a flag of the command that was run (%j)", async (started, line) => {
    const port = await takenPort();
    const args = ["serve", "--port", `${port}`, "--data", "memory"];

    const sentence = await refusal({ cwd: temporaryFolder(), args, env: started }, NOT_STARTED_NOW);

    const words = sentence.replace(/--port (\d+) --data memory/, "--data memory --port $1");
    expect(words).toContain(`${line} ${port + 1}`);
  });

  test("it is bound before the data folder is touched", async () => {
    const cwd = temporaryFolder();
    const port = await takenPort();

    await refusal(
      { cwd, env: { PORT: `${port}`, CONVOKE_DATA: join(cwd, "data") } },
      NOT_STARTED_NOW,
    );

    expect(readdirSync(cwd)).toEqual([]);
  });
});

describe("the data folder", () => {
  test("one below a file is named, with the reason", async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "file"), "");

    const sentence = await refusal({ cwd, env: { CONVOKE_DATA: "file/data" } });

    expect(sentence).toBe(
      `The data folder ${join(cwd, "file", "data")} cannot be used (ENOTDIR: not a directory); choose another one, for example with CONVOKE_DATA.`,
    );
  });

  test("one that is not writable is named, with the reason", async () => {
    const cwd = temporaryFolder();
    const data = unwritableFolder();

    const sentence = await refusal({ cwd, env: { CONVOKE_DATA: data } });

    const why = "(?:EACCES: permission denied|EROFS: read-only file system)";
    expect(sentence).toMatch(
      new RegExp(
        `^The data folder ${data} cannot be used \\(${why}\\); choose another one, for example with CONVOKE_DATA\\.$`,
      ),
    );
  });

  verifies(
    "G4",
    "one that is already served is named, with the process that serves it",
    async () => {
      const cwd = temporaryFolder();
      const first = await serveConvoke({ cwd });

      const sentence = await refusal({ cwd }, NOT_STARTED_NOW);

      expect(sentence).toBe(
        `The data folder ${join(cwd, ".convoke", "convoke-demo")} is in use by process ${first.program.pid} (port ${first.port}).`,
      );
      const [dialect] = DIALECTS;
      const task = await new WireClient(first, dialect!).sendTask("hello");
      expect(task.status.state).toBe("completed");
    },
  );
});

describe("an address that others can reach", () => {
  test("it needs a token, and the printed command with one works", async () => {
    const cwd = temporaryFolder();

    const sentence = await refusal({ cwd, env: { BIND_HOST: "0.0.0.0" } });

    expect(existsSync(join(cwd, ".convoke"))).toBe(false);
    const line =
      /^This server would be reachable .* Try: (CONVOKE_TOKEN=\S{32,} BIND_HOST=0\.0\.0\.0) npx convoke serve$/;
    expect(sentence).toMatch(line);
    const settings = (line.exec(sentence)?.[1] ?? "").split(" ").map((text) => text.split("="));
    const env = Object.fromEntries(settings) as Record<string, string>;
    const server = await serveConvoke({ cwd, env });
    for (const dialect of DIALECTS) {
      const refused = await new WireClient(server, dialect).send("hello");
      expect(refused.status).toBe(401);
      const headers = { authorization: `Bearer ${env["CONVOKE_TOKEN"]}` };
      const task = await new WireClient(server, dialect, headers).sendTask("hello");
      expect(task.status.state).toBe("completed");
    }
  });

  test.each(["192.0.2.1", "2001:db8::1", "fe80::1"])(
    "%s is not one of this machine",
    async (host) => {
      const env = { CONVOKE_TOKEN: "secret", BIND_HOST: host };

      const sentence = await refusal({ cwd: temporaryFolder(), env });

      expect(sentence).toBe(
        `BIND_HOST ${host} is not an address of this machine. Try: BIND_HOST=127.0.0.1 npx convoke serve`,
      );
    },
  );
});

describe("an invalid setting", () => {
  const notAPort = "PORT must be a number from 0 to 65535, not";
  const notAnAddress = "PUBLIC_URL must be an http or https address, not";

  test.each([
    { env: { PORT: "http" }, sentence: `${notAPort} "http".` },
    { env: { PORT: "65536" }, sentence: `${notAPort} "65536".` },
    { env: { PUBLIC_URL: "ftp://agents" }, sentence: `${notAnAddress} "ftp://agents".` },
    {
      env: { CONVOKE_LOG: "loud" },
      sentence: 'CONVOKE_LOG must be one of debug, info, warn, error, silent, not "loud".',
    },
  ])("$sentence", async ({ env, sentence }) => {
    const cwd = temporaryFolder();

    expect(await refusal({ cwd, env })).toBe(sentence);
    expect(readdirSync(cwd)).toEqual([]);
  });
});

describe("the agent", () => {
  test("a file that does not exist", async () => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, "folder"));

    expect(await refusal({ cwd, args: ["serve", "agent.ts"] })).toBe("There is no file agent.ts.");
    expect(await refusal({ cwd, args: ["serve", "folder"] })).toBe(
      "There is no agent in the folder folder.",
    );
  });

  test("one whose model cannot be used, with what is missing", async () => {
    const cwd = temporaryFolder();
    writeAgent(
      cwd,
      `export default defineAgent({ name: "A", description: "B", model: "google:g" });`,
    );
    const env = { GOOGLE_GENERATIVE_AI_API_KEY: "" };

    expect(await refusal({ cwd, env, args: ["serve", "agent.mts"] })).toBe(
      "The agent's model cannot be used: google:g needs a key; set GOOGLE_GENERATIVE_AI_API_KEY or give apiKey.",
    );
  });

  test.each([
    ["nothing by default", `export const agent = 1;`],
    ["a default that is not an agent", `export default { name: "Greeter", run() {} };`],
  ])("a file that exports %s", async (_, body) => {
    const cwd = temporaryFolder();
    writeAgent(cwd, body);

    expect(await refusal({ cwd, args: ["serve", "agent.mts"] })).toBe(
      "agent.mts must export an agent: export default defineAgent({ name, description, run })",
    );
  });

  test("a file in a package that is CommonJS", async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "package.json"), '{ "type": "commonjs" }');
    writeAgent(cwd, `export default 1;`, "agent.ts");

    expect(await refusal({ cwd, args: ["serve", "agent.ts"] })).toBe(
      'agent.ts could not be loaded. Its package.json has "type": "commonjs": rename the file to .mts, or set "type": "module".',
    );
  });

  test.each([
    [
      "an import without its extension",
      'import { name } from "./name";\nexport default name;',
      /^agent\.mts could not be loaded\. Node needs the extension of a file in an import: import name\.ts by its whole name \(.*name\.ts\), or run npm install tsx .* NODE_OPTIONS='--import tsx'/,
    ],
    [
      "an enum",
      "enum Tier { Gold }\nexport default Tier;",
      /^agent\.mts could not be loaded\. Node removes types but does not compile, so it cannot run enum \(.*agent\.mts:2\)\. Use a union of strings .* NODE_OPTIONS='--import tsx'/,
    ],
    [
      "a parameter property",
      "export default class { constructor(readonly name: string) {} }",
      /cannot run parameter property \(.*agent\.mts:2\)\. Declare a field .* NODE_OPTIONS='--import tsx'/,
    ],
  ])("a file with %s: the sentence says how to fix it", async (_, body, sentence) => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "name.ts"), 'export const name: string = "Ann";');
    writeAgent(cwd, body);

    expect(await refusal({ cwd, args: ["serve", "agent.mts"] })).toMatch(sentence);
  });

  test("a file that throws: the sentence is followed by the location, which its author needs", async () => {
    const cwd = temporaryFolder();
    writeAgent(cwd, `\nthrow new Error("there is no key");`);

    const { code, stdout, stderr } = await startConvoke({ cwd, args: ["serve", "agent.mts"] })
      .ended;

    const [sentence, place] = stderr.split("\n");
    expect({ code, stdout }).toEqual({ code: NOT_STARTED, stdout: "" });
    expect(sentence).toBe("agent.mts could not be loaded. The error is: Error: there is no key");
    expect(place).toMatch(/agent\.mts:3:7/);
    expect(existsSync(join(cwd, ".convoke"))).toBe(false);
  });
});
