import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { examineMachine } from "../../apps/convoke/src/doctor/examine-machine.ts";
import { listenOn } from "../check/peer-server.ts";
import { startConvoke } from "../start/convoke-process.ts";

/** A folder with these files, in which the command runs and where it looks for credentials. */
function aProject(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "convoke-doctor-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
    chmodSync(join(folder, name), 0o644);
  }
  return folder;
}

interface Report {
  readonly diagnoses: readonly { readonly id: string; readonly severity: string }[];
}

async function examine(cwd: string, args: readonly string[], env: Record<string, string> = {}) {
  const program = startConvoke({
    cwd,
    args: ["doctor", ...args, "--json"],
    env: { XDG_CONFIG_HOME: cwd, ANTHROPIC_API_KEY: "", ...env },
  });
  const { code, stdout, stderr } = await program.ended;
  if (stdout === "") throw new Error(stderr);
  const { diagnoses } = JSON.parse(stdout) as Report;
  // Whether the temporary folder is in memory depends on the machine of the test.
  const ids = diagnoses.map(({ id }) => id).filter((id) => id !== "data-folder-in-memory");
  return { code, ids, stdout };
}

test("an empty folder on this machine is healthy", async () => {
  const { code, ids, stdout } = await examine(aProject({}), []);

  expect(ids, stdout).toEqual([]);
  expect(code).toBe(0);
});

test("every fault of a project is found at once, and no secret is printed", async () => {
  const { url, close } = await listenOn((_, response) => void response.end());
  onTestFinished(close);
  const stored = { origins: { "https://agent.example": { token: "very-secret" } } };
  const folder = aProject({
    "convoke/credentials.json": JSON.stringify(stored),
    "agent.mjs": `export default { run: 1 };`,
    data: "a file where the folder should be",
  });

  const { code, ids, stdout } = await examine(folder, ["agent.mjs"], {
    PORT: new URL(url).port,
    CONVOKE_DATA: "data",
  });

  expect(ids, stdout).toEqual([
    "credentials-exposed",
    "data-folder-not-writable",
    "port-unavailable",
    "agent-broken",
  ]);
  expect(code).toBe(1);
  expect(stdout).not.toContain("very-secret");
});

test("a configuration that cannot be loaded is found: config-broken", async () => {
  const folder = aProject({ "convoke.config.mjs": "export default { colour: 1 };" });

  expect(await examine(folder, [])).toMatchObject({ code: 1, ids: ["config-broken"] });
});

test("a setting that cannot be read is found: settings-invalid", async () => {
  const { code, ids } = await examine(aProject({}), [], { CONVOKE_LOG: "loud" });

  expect({ code, ids }).toEqual({ code: 1, ids: ["settings-invalid"] });
});

test("a .env that cannot be read is found: env-file-unreadable", async () => {
  const { code, ids } = await examine(aProject({ ".env/file": "" }), []);

  expect({ code, ids }).toEqual({ code: 1, ids: ["env-file-unreadable"] });
});

test("a clock that was never set is found: clock-wrong", async () => {
  const env = { PORT: "0", CONVOKE_DATA: "memory" };

  const { diagnoses } = await examineMachine({ env, now: new Date("1970-01-02") });

  expect(diagnoses.map(({ id }) => id)).toEqual(["clock-wrong"]);
});

test("an agent whose model has no key is found: model-unusable", async () => {
  const convoke = new URL("../../apps/convoke/src/index.ts", import.meta.url).href;
  const folder = aProject({
    "agent.mjs": `import { defineAgent } from ${JSON.stringify(convoke)};
export default defineAgent({ name: "A", description: "Thinks.", model: "anthropic:claude-sonnet-4-5" });`,
  });

  const without = await examine(folder, ["agent.mjs"]);
  const withKey = await examine(folder, ["agent.mjs"], { ANTHROPIC_API_KEY: "very-secret" });

  expect(without.ids, without.stdout).toEqual(["model-unusable"]);
  expect(without.stdout).toContain("ANTHROPIC_API_KEY");
  expect(withKey.ids, withKey.stdout).toEqual([]);
  expect(withKey.stdout).not.toContain("very-secret");
});
