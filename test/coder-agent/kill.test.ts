import { type Task, isTerminal } from "@convoke/protocol";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { MortalServer } from "../harness/mortal-server.ts";
import { CoderClient, saying } from "../coder-wire/a-coder-client.ts";
import { aFolder } from "./a-coder.ts";

/** How often the edit is killed; `npm run test:coder` does it more often. */
const EDITS = Number(process.env["CONVOKE_CODER_KILLS"] ?? 2);
/** Starting processes takes long on a busy machine; nothing here measures time. */
const WITHIN_MS = 180_000 + EDITS * 15_000;

const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: WITHIN_MS / 3, interval: 50 });

function linesOf(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
}

/** The processes that work in a folder, also those in a sandbox. */
function processesIn(folder: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, "utf8");
      return /^\d+$/.test(pid) && environment.includes(`PWD=${folder}\0`);
    } catch {
      return false;
    }
  });
}

test(
  "killed while it waits, edits or runs a command, it does nothing twice and leaves nothing behind",
  async () => {
    const { root } = aFolder({ "a.txt": "old\n" });
    const server = new MortalServer({
      script: new URL("./coder-server.ts", import.meta.url),
      env: () => ({ CODER_ROOT: root }),
    });
    onTestFinished(() => server.close());
    await server.start();
    const client = async (): Promise<CoderClient> =>
      new CoderClient((await server.url()).replace(/\/$/, ""));
    const ask = async (toolName: string, input: object): Promise<Task> => {
      const task = await (await client()).send(saying(JSON.stringify({ toolName, input })));
      expect(task.status.state).toBe("input-required");
      return task;
    };
    /** The connection may break with the server. */
    const approve = async ({ id }: Task): Promise<void> => {
      const message = { taskId: id, ...saying("approve") };
      await (await client()).send(message).catch(() => undefined);
    };
    const end = (task: Task): Promise<Task> =>
      eventually(async () => {
        const { result } = await (await client()).rpc("tasks/get", { id: task.id });
        expect(isTerminal(result!.status.state)).toBe(true);
        return result!;
      });

    // While it waits for an approval: the question is still there, and the answer counts once.
    const waiting = await ask("write_file", { path: "new.txt", content: "x\n" });
    await server.restart();
    expect(existsSync(join(root, "new.txt"))).toBe(false);
    await approve(waiting);
    expect((await end(waiting)).status.state).toBe("completed");
    expect(readFileSync(join(root, "new.txt"), "utf8")).toBe("x\n");

    // While it edits: the file is the old or the new one.
    let before = "old\n";
    for (let edit = 0; edit < EDITS; edit++) {
      const after = `${edit}${"y".repeat(300_000)}\n`;
      const input = { path: "a.txt", edits: [{ oldText: before, newText: after }] };
      const editing = await ask("edit_file", input);
      const answered = approve(editing);
      await sleep(edit * 7);
      await server.restart();
      await answered;
      // An answer that was lost with the server is sent again.
      const { result } = await (await client()).rpc("tasks/get", { id: editing.id });
      if (result!.status.state === "input-required") await approve(editing);
      await end(editing);
      const found = readFileSync(join(root, "a.txt"), "utf8");
      expect([before, after].includes(found), `${found.length} characters`).toBe(true);
      before = found;
    }

    // While it runs a command: it is not run again, and no process is left.
    const command = "echo x >> runs; sleep 1000";
    const running = await ask("run_shell", { command });
    const answered = approve(running);
    await eventually(() => expect(linesOf(join(root, "runs"))).toEqual(["x"]));
    await server.restart();
    await answered;
    await end(running);
    await eventually(() => expect(processesIn(root)).toEqual([]));
    expect(linesOf(join(root, "runs"))).toEqual(["x"]);
  },
  WITHIN_MS,
);
