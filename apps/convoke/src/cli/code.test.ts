import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { type Finished, runCli } from "./testing/run-cli.suite.ts";

interface Served extends Finished {
  /** The output of a command that was run while the server was there. */
  readonly listed?: Finished;
}

/** Runs `convoke code` until it is ready, and stops it. */
async function serveCode(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  ask?: (url: string) => Promise<Finished>,
): Promise<Served> {
  const stop = new AbortController();
  let listed: Promise<Finished> | undefined;
  const done = await runCli(["code", ...args, "--data", "memory"], {
    env,
    signal: stop.signal,
    onStdout: (text) => {
      const [, url] = /^Look at +(\S+)\/\.well-known/m.exec(text) ?? [];
      if (url === undefined) return;
      listed = ask?.(url);
      void Promise.resolve(listed).finally(() => stop.abort());
    },
  });
  return { ...done, ...(listed && { listed: await listed }) };
}

function aFolder(files: Readonly<Record<string, string>> = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "convoke-code-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

describe("convoke code", () => {
  verifies(["R126"], "serves the folder and port of the environment", async () => {
    const env = {
      CODER_AGENT_PORT: "0",
      CODER_AGENT_WORKSPACE_PATH: aFolder({ "here.txt": "" }),
    };

    const { code, stdout, listed } = await serveCode([], env, (url) =>
      runCli(["send", url, "list"]),
    );

    expect(code).toBe(0);
    expect(stdout).toContain(`Folder   ${env.CODER_AGENT_WORKSPACE_PATH}`);
    expect(listed?.stdout).toContain("here.txt");
  });

  verifies(["R126"], "listens on port 41242 by default", async () => {
    const { stdout, stderr } = await serveCode([aFolder()]);

    // Another test, or a person, may use the port at the moment.
    expect(stdout + stderr).toMatch(/127\.0\.0\.1:41242|Port 41242 is in use/);
  });

  test.each([
    [["/nowhere"], {}, "There is no folder /nowhere."],
    [["--mode", "yolo"], {}, "mode in policy of coder must be one of plan, ask, auto-edit, full"],
    [["--model", "nobody:x"], {}, '"nobody:x" names no known provider'],
    [[], { CODER_AGENT_PORT: "high" }, "CODER_AGENT_PORT must be a number from 0 to 65535"],
  ] as const)("%j with %j does not start", async (args, env, problem) => {
    const folder = aFolder();
    const place = { CODER_AGENT_WORKSPACE_PATH: folder, CODER_AGENT_PORT: "0" };
    const { code, stderr } = await serveCode(args, { ...place, ...env });

    expect(stderr).toContain(problem);
    expect(code).toBe(5);
  });

  test("uses the section coder of a configuration that is named", async () => {
    const folder = aFolder();
    mkdirSync(join(folder, "project"));
    writeFileSync(join(folder, "project", "inside.txt"), "");
    const config = join(folder, "convoke.config.mjs");
    const workspace = JSON.stringify(join(folder, "project"));
    writeFileSync(config, `export default { coder: { name: "Mine", workspace: ${workspace} } };`);

    const { stdout, listed } = await serveCode(["--port", "0", "--config", config], {}, (url) =>
      runCli(["send", url, "list"]),
    );

    expect(stdout).toContain("Running  Mine at ");
    expect(listed?.stdout).toContain("inside.txt");
  });
});
