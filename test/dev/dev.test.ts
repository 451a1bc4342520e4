import { connect } from "convoke";
import { renameSync, writeFileSync } from "node:fs";
import { type AddressInfo, type Server, createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Program } from "../harness/program.ts";
import { writeAgent } from "../start/agent-file.ts";
import { serveConvoke, startConvoke } from "../start/convoke-process.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";

/** Counts to nine. It stops at five for as long as `paused.mts` says so. */
const COUNTER = `
import { once } from "node:events";
import { PAUSED } from "./paused.mts";
export default defineAgent({
  name: "Counter", description: "Counts.",
  async *run({ signal, step }) {
    await step("begin", () => "now");
    for (let n = 1; n < 10; n++) {
      yield n + " ";
      if (n === 5 && PAUSED) await once(signal, "abort");
    }
  },
});`;

function greeter(greeting: string): string {
  return `export default defineAgent({
    name: "Greeter", description: "Greets.", run: ({ text }) => \`${greeting}, \${text}!\` });`;
}

/** A liveness bound: processes start slowly on a busy machine. */
const WITHIN = { timeout: 20_000 };

function untilStderr(program: Program, text: string): Promise<void> {
  return vi.waitFor(() => expect(program.stderr).toContain(text), WITHIN);
}

function isReloaded(stdout: string): true | undefined {
  return stdout.includes(" is reloaded.\n") ? true : undefined;
}

/** Saves a file as many editors do: a new file replaces the old one. */
function save(folder: string, name: string, text: string): void {
  writeFileSync(join(folder, `${name}.new`), text);
  renameSync(join(folder, `${name}.new`), join(folder, name));
}

test("a task that runs while an imported file changes is finished by the new version, and its stream has no gap", async () => {
  const cwd = temporaryFolder();
  writeAgent(cwd, COUNTER);
  save(cwd, "paused.mts", "export const PAUSED: boolean = true;");
  const env = { CONVOKE_DRAIN_MS: "0" };
  const { url, program } = await serveConvoke({ cwd, args: ["dev", "agent.mts"], env });

  const run = (await connect(url)).stream("count");
  let text = "";
  for await (const delta of run.text) {
    text += delta;
    if (text === "1 2 3 4 5 ") save(cwd, "paused.mts", "export const PAUSED: boolean = false;");
  }

  expect(text).toBe("1 2 3 4 5 6 7 8 9 ");
  expect((await run.result).task?.status.state).toBe("completed");
  await program.until(isReloaded);
  expect(program.stdout).toContain("Counter is reloaded.\n");
});

test("a syntax error is shown and the old version keeps serving, until the error is fixed", async () => {
  const cwd = temporaryFolder();
  writeAgent(cwd, greeter("Hello"));
  const { url, program } = await serveConvoke({ cwd, args: ["dev", "agent.mts"] });
  const agent = await connect(url);

  writeAgent(cwd, "export default defineAgent({");
  await untilStderr(program, "The previous version keeps running.");

  expect(program.stderr).toContain("agent.mts could not be loaded.");
  expect((await agent.send("Ann")).text).toBe("Hello, Ann!");

  writeAgent(cwd, greeter("Welcome"));
  await program.until(isReloaded);
  expect((await agent.send("Ann")).text).toBe("Welcome, Ann!");

  // The server does not outlive a supervisor that is killed.
  await program.kill("SIGKILL");
  await vi.waitFor(() => expect(fetch(url)).rejects.toThrow(), WITHIN);
});

test("an agent that cannot be loaded at first starts as soon as it can, and Ctrl+C stops it", async () => {
  const cwd = temporaryFolder();
  writeAgent(cwd, `import "./missing.mts";\n${greeter("Hello")}`);
  const program = startConvoke({ cwd, args: ["dev", "agent.mts"] });
  await untilStderr(program, "Waiting for a change of the sources.");

  save(cwd, "missing.mts", "export {};");
  await program.until((stdout) => (stdout.includes("Type ") ? true : undefined));

  const { code, stdout } = await program.kill("SIGINT");
  expect(code).toBe(0);
  expect(stdout).toContain("Running  Greeter at ");
});

test("a missing file and a port in use are errors, not something to wait for", async () => {
  const cwd = temporaryFolder();
  writeAgent(cwd, greeter("Hello"));
  const other = await new Promise<Server>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => resolve(server));
  });
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;

  const named = await startConvoke({ cwd, args: ["dev", "nothing.ts"] }).ended;
  const inUse = await startConvoke({ cwd, args: ["dev", "agent.mts", "--port", String(port)] })
    .ended;
  const unnamed = await startConvoke({ cwd, args: ["dev"] }).ended;

  expect([named.code, named.stderr]).toEqual([5, "There is no file nothing.ts.\n"]);
  expect([inUse.code, inUse.stderr]).toEqual([
    6,
    `Port ${port} is in use. Try: npx convoke dev agent.mts --port ${port + 1}\n`,
  ]);
  expect([unnamed.code, unnamed.stderr]).toEqual([
    2,
    "There is no agent.ts here: name the file of your agent. See: npx convoke dev --help\n",
  ]);
});
