import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "convoke";
import { expect, test } from "vitest";
import { start, succeed } from "../harness/program.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** The bundler that comes with Vitest, in the version that package.json pins. */
const ROLLDOWN = join(ROOT, "node_modules", "rolldown", "bin", "cli.mjs");
const CONVOKE = join(ROOT, "apps", "convoke", "src", "index.ts");

const SERVER = `
import { defineAgent, serve } from ${JSON.stringify(CONVOKE)};
const agent = defineAgent({ name: "Bundled", description: "d", run: ({ text }) => "hello " + text });
const server = await serve(agent, { port: 0, data: "data" });
console.log(server.url);
`;

const CONFIG = {
  input: "server.ts",
  platform: "node",
  resolve: { conditionNames: ["@convoke/source", "import", "node", "default"] },
  output: { file: "server.mjs", codeSplitting: false },
};

test("a server in one file, without its packages, keeps its tasks", async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, "server.ts"), SERVER);
  writeFileSync(join(cwd, "bundle.mjs"), `export default ${JSON.stringify(CONFIG)};`);
  await succeed(process.execPath, [ROLLDOWN, "-c", "bundle.mjs"], { cwd });
  const serve = async () => {
    const program = start(process.execPath, ["server.mjs"], { cwd, env: {} });
    const url = await program.until((stdout) => /http:\S+/.exec(stdout)?.[0]);
    return { program, agent: await connect(url) };
  };

  const first = await serve();
  const { text, task } = await first.agent.send("Ann");
  await first.program.kill("SIGKILL");
  const second = await serve();

  expect(text).toBe("hello Ann");
  expect(await second.agent.get(task?.id ?? "")).toEqual(task);
  // Packages of model providers are optional, so a bundle must not require them.
  expect(readFileSync(join(cwd, "server.mjs"), "utf8")).not.toContain("api.openai.com");
});
