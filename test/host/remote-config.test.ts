import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Finished, runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";

const SERVE = ["serve", "--port", "0", "--data", "memory"];

/** A file of a new folder. */
function aFile(name: string, text: string): string {
  const file = join(temporaryFolder(), name);
  writeFileSync(file, text);
  return file;
}

const aConfig = (settings: string): string =>
  aFile("convoke.config.mjs", `export default ${settings};`);

const GREETER = `export default { info: { name: "greeter", description: "Greets.", skills: [] }, run() {} };`;

/** The list of the agents of `convoke serve`, which runs for the duration of a test. */
async function listed(...args: readonly string[]): Promise<unknown> {
  const stop = new AbortController();
  let ended: Promise<Finished> | undefined;
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  const url = await new Promise<string>((resolve, reject) => {
    const onStdout = (text: string): void => {
      const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(text) ?? [];
      if (address !== undefined) resolve(address);
    };
    ended = runCli([...SERVE, ...args], { signal: stop.signal, onStdout });
    void ended.then(({ stderr }) => reject(new Error(stderr)));
  });
  return (await fetch(`${url}/.well-known/agents.json`)).json();
}

test("agents of the configuration at a URL are listed with those that are served", async () => {
  const config = aConfig(`{ agents: {
    poet: { description: "Writes.", model: "demo" },
    translator: "https://translator.example.com",
    checker: { url: "https://checker.example.com", description: "Checks." },
  } }`);

  expect(await listed("--config", config)).toMatchObject({
    default: "poet",
    agents: [
      { id: "poet" },
      { id: "translator", url: "https://translator.example.com" },
      { id: "checker", url: "https://checker.example.com", description: "Checks." },
    ],
  });
});

test("an agent that is served alone stays alone, with its own data, if others are listed", async () => {
  const config = aConfig(`{ agents: { translator: "https://translator.example.com" } }`);

  expect(await listed(aFile("greeter.mjs", GREETER), "--config", config)).toMatchObject({
    default: "greeter",
    agents: [{ id: "greeter" }, { id: "translator" }],
  });
});

describe("the start ends with one sentence", () => {
  test.each([
    [
      `{ agents: { translator: "https://user:secret@translator.example.com" } }`,
      "agents.translator: url must be an http or https address as in",
    ],
    [
      `{ agents: { translator: { url: "https://translator.example.com", model: "demo" } } }`,
      'agents.translator: an agent at a URL is listed and not called, so it has no field "model"',
    ],
    [`{ agents: { translator: "https://a.example" } }`, "There is no agent to serve: add one"],
    [
      `{ registry: true, agents: { poet: { description: "Writes.", model: "demo" } } }`,
      "registry was removed: there is no registry of agents any more; name agents elsewhere by URL",
    ],
  ])("for the configuration %s", async (settings, problem) => {
    const { code, stderr } = await runCli([...SERVE, "--config", aConfig(settings)]);

    expect(stderr).toContain(problem);
    expect(code).toBe(5);
  });

  test("if a listed agent has the id of a served one", async () => {
    const config = aConfig(`{ agents: { greeter: "https://greeter.example.com" } }`);
    const file = aFile("greeter.mjs", GREETER);

    const { code, stderr } = await runCli([...SERVE, file, "--config", config]);

    expect(stderr).toContain(
      "agents.greeter in the configuration is at a URL, and an agent that is",
    );
    expect(code).toBe(5);
  });

  test.each([{ CONVOKE_REGISTRY: "1" }, { CONVOKE_REGISTRY_ALLOW: "10.0.0.0/8" }])(
    "for a variable of the removed registry: %j",
    async (env) => {
      const { code, stderr } = await runCli([...SERVE, aFile("greeter.mjs", GREETER)], { env });

      expect(stderr).toContain(`${Object.keys(env)[0]} is no longer used: there is no registry`);
      expect(code).toBe(5);
    },
  );
});
