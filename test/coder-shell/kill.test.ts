import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Caller } from "../harness/caller.ts";
import { MortalServer } from "../harness/mortal-server.ts";
import { aFolder, needsSandbox } from "./a-shell.ts";

/** Starting processes takes long on a busy machine; nothing here measures time. */
const WITHIN_MS = 120_000;

const eventually = (check: () => void): Promise<void> =>
  vi.waitFor(check, { timeout: WITHIN_MS / 2, interval: 50 });

/** Writes its process id, and that of a process that leaves the group, and does not end. */
const COMMAND =
  "echo $$ >> pids; setsid sh -c 'echo $$ >> pids; exec sleep 1000' & echo x >> runs; sleep 1000";

/** Kills the server in the middle of the command, and lets the next one finish the task. */
async function killDuringCommand(sandbox: Readonly<Record<string, string>> = {}): Promise<{
  readonly root: string;
  readonly records: string;
  readonly answer: string;
}> {
  const [root, records] = [aFolder(), aFolder()];
  const env = { SHELL_ROOT: root, SHELL_RECORDS: records, ...sandbox };
  const server = new MortalServer({
    script: new URL("./shell-server.ts", import.meta.url),
    env: () => ({ ...env, SHELL_COMMAND: COMMAND }),
  });
  onTestFinished(() => server.close());
  await server.start();
  const task = new Caller(server, "m1", "go").send();
  await eventually(() => expect(linesOf(join(root, "pids"))).toHaveLength(2));
  await eventually(() => expect(linesOf(join(root, "runs"))).toHaveLength(1));

  await server.restart();

  const { status, artifacts = [] } = await task;
  return { root, records, answer: JSON.stringify([status, artifacts]) };
}

function linesOf(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
}

test(
  "a command that was running when the server was killed is ended by the next, and not run again",
  async () => {
    const { root, records, answer } = await killDuringCommand();

    const isRunning = (pid: string): boolean => existsSync(`/proc/${pid}/exe`);
    await eventually(() => expect(linesOf(join(root, "pids")).filter(isRunning)).toEqual([]));
    expect(linesOf(join(root, "runs"))).toEqual(["x"]);
    expect(readdirSync(records)).toEqual([]);
    expect(answer).toContain("Unknown: a crash cut this call");
  },
  WITHIN_MS,
);

describe("in the sandbox", () => {
  const bubblewrap = needsSandbox();

  test(
    "a command ends together with the server",
    async () => {
      const { root, records } = await killDuringCommand({
        SHELL_SANDBOX: "real",
        CONVOKE_BWRAP: bubblewrap(),
      });

      expect(linesOf(join(root, "runs"))).toEqual(["x"]);
      await eventually(() => expect(processesIn(root)).toEqual([]));
      expect(readdirSync(records)).toEqual([]);
    },
    WITHIN_MS,
  );
});

/** The processes whose working directory is a folder. Those in a sandbox have ids of their own. */
function processesIn(folder: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) &&
        readFileSync(`/proc/${pid}/environ`, "utf8").includes(`PWD=${folder}\0`)
      );
    } catch {
      return false;
    }
  });
}
