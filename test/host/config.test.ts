import { connect } from "convoke";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Finished, runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";

const LINES = new URL("../processes/programs/lines.mjs", import.meta.url).pathname;
const CONVOKE = new URL("../../apps/convoke/src/index.ts", import.meta.url).href;

/** A configuration file with these settings, written as code. */
function aConfig(settings: string): string {
  const file = join(temporaryFolder(), "convoke.config.mjs");
  writeFileSync(file, `export default ${settings};`);
  return file;
}

/** Runs `convoke serve` for the duration of a test, and returns its address. */
async function served(...args: readonly string[]): Promise<string> {
  const stop = new AbortController();
  let ended: Promise<Finished> | undefined;
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  return new Promise((resolve, reject) => {
    const onStdout = (text: string): void => {
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(text) ?? [];
      if (url !== undefined) resolve(url);
    };
    const all = ["serve", "--port", "0", "--data", "memory", ...args];
    ended = runCli(all, { signal: stop.signal, onStdout });
    void ended.then(({ stderr }) => reject(new Error(stderr)));
  });
}

interface Directory {
  readonly default: string;
  readonly agents: readonly { readonly id: string; readonly description: string }[];
}

async function directory(url: string): Promise<Directory> {
  return (await fetch(`${url}/.well-known/agents.json`)).json() as Promise<Directory>;
}

test("the agents of a configuration are served: models, programs, coding agents, modules and objects", async () => {
  const folder = temporaryFolder();
  const module = join(folder, "greeter.mjs");
  writeFileSync(
    module,
    `export default { info: { name: "greeter", description: "Greets.", skills: [] }, run() {} };`,
  );
  const config = aConfig(`{
    default: "poet",
    agents: {
      greeter: ${JSON.stringify(module)},
      poet: {
        description: "Writes.",
        model: ["demo"],
        instructions: "Write.",
        persona: { archetype: "bard", instructions: "You sing." },
        skillBundles: [{ name: "rhymes" }, { name: "odes", instructions: "Praise." }],
      },
      echo: { command: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(LINES)}], protocol: "json-lines", workspace: ${JSON.stringify(folder)} },
      builder: { workspace: ${JSON.stringify(folder)} },
      own: { info: { name: "Own", description: "Code.", skills: [] }, run() {} },
    },
  }`);

  const url = await served("--config", config);

  const list = await directory(url);
  expect(list.agents.map(({ id }) => id)).toEqual(["greeter", "poet", "echo", "builder", "own"]);
  expect(list.default).toBe("poet");
  expect(list.agents[1]!.description).toBe("Writes. | Archetype: bard | Skills: rhymes, odes");
  expect((await connect(url)).card["name"]).toBe("poet");
  const echo = await connect(`${url}/agents/echo`);
  expect((await echo.send("hello")).text).toContain('"text":"hello"');
});

test("files on the command line are added to the agents of the configuration", async () => {
  const file = join(temporaryFolder(), "fan.mjs");
  writeFileSync(
    file,
    `import { defineAgent } from ${JSON.stringify(CONVOKE)};
     export default defineAgent({ name: "Fan", description: "Likes.", run: () => "yes" });`,
  );
  const config = aConfig(`{ agents: { poet: { description: "Writes.", model: "demo" } } }`);

  const { agents } = await directory(await served(file, "--config", config));

  expect(agents.map(({ id }) => id)).toEqual(["poet", "fan"]);
});

test("a program of --process is an agent with its name", async () => {
  const url = await served("--process", `"${process.execPath}" '${LINES}'`);

  expect((await directory(url)).agents).toMatchObject([{ id: "node" }]);
  expect((await (await connect(url)).send("hello")).text).toContain('"text":"hello"');
});

test("the hint for a port in use starts the same programs", async () => {
  const url = await served("--process", "sh program.sh");

  const taken = ["--process", "sh program.sh", "--port", new URL(url).port];
  const { stderr } = await runCli(["serve", "--data", "memory", ...taken]);

  expect(stderr).toContain("Try: convoke serve --process 'sh program.sh' --port ");
});

describe("a configuration is rejected with the field and the fix", () => {
  const MODEL = `description: "Writes.", model: "demo"`;
  const PROGRAM = `command: "x", protocol: "acp", workspace: "."`;

  test.each([
    [`{ agents: [] }`, "agents must be an object, as in agents: { poet:"],
    [`{ agents: {} }`, "There is no agent to serve: add one to agents"],
    [`{ agents: { poet: {} } }`, "agents.poet is no agent. Give it a model"],
    [`{ agents: { poet: 5 } }`, "agents.poet must be an object or the path of a module."],
    [`{ agents: { Poet: { ${MODEL} } } }`, "agents.Poet: the id of an agent must be 1 to 64 lower"],
    [`{ agents: { poet: { model: "demo" } } }`, "agents.poet: description is required: what the"],
    [
      `{ agents: { poet: { ${MODEL}, instrctions: "" } } }`,
      'agents.poet has no option "instrctions". Did you mean instructions?',
    ],
    [
      `{ agents: { poet: { ${MODEL}, persona: { archetyp: "bard" } } } }`,
      'agents.poet: persona has no field "archetyp"; it has archetype and instructions.',
    ],
    [
      `{ agents: { poet: { ${MODEL}, skillBundles: [{}] } } }`,
      "agents.poet: skillBundles[0] needs a name.",
    ],
    [
      `{ agents: { poet: { description: "Writes.", model: "gpt" } } }`,
      'agents.poet: the agent\'s model cannot be used: model: "gpt" names no known provider; use "anthropic:<model>"',
    ],
    [
      `{ agents: { poet: { ${PROGRAM}, arg: [] } } }`,
      'agents.poet has no option "arg". Did you mean args?',
    ],
    [
      `{ agents: { poet: { command: "x", protocol: "mcp", workspace: "." } } }`,
      'agents.poet: protocol must be "acp" or "json-lines".',
    ],
    [
      `{ agents: { poet: { module: "./poet.ts", model: "demo" } } }`,
      'agents.poet: a module has no other fields: remove "model".',
    ],
    [`{ agents: { poet: "./nowhere.ts" } }`, "There is no file ./nowhere.ts."],
    [
      `{ agents: { poet: { info: { name: "Bard", description: "", skills: [] }, run() {} } } }`,
      'agents.poet: the agent has the id "bard": use it as the key, or set its id to "poet".',
    ],
    [
      `{ agents: { poet: { ${MODEL} } }, default: "bard" }`,
      'default in the configuration must be the id of an agent (poet), not "bard".',
    ],
    [`{ agent: {} }`, 'has no setting "agent". Did you mean agents?'],
  ])("%s", async (settings, problem) => {
    const args = ["serve", "--config", aConfig(settings), "--data", "memory", "--port", "0"];
    const { code, stderr } = await runCli(args);

    expect(stderr).toContain(problem);
    expect(code).toBe(5);
  });
});
