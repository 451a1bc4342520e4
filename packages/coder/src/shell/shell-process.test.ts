import { ChildRecords } from "@convoke/runtime/processes";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ShellProcess } from "./shell-process.ts";

test("a command starts only when it is recorded, so that a crash cannot lose it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shell-process-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const ran = join(folder, "ran");
  const started: boolean[] = [];
  class SlowRecords extends ChildRecords {
    override add(pid: number, mark?: string): () => void {
      // Blocks this process, not the command.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
      started.push(existsSync(ran));
      return super.add(pid, mark);
    }
  }
  const kind = { prefix: "shell-child", name: "a command" };
  const records = new SlowRecords(folder, kind, { warn: () => undefined });

  const argv = ["touch", ran];
  const process = new ShellProcess({
    argv,
    cwd: folder,
    env: { PATH: "/usr/bin:/bin" },
    records,
    print: () => undefined,
  });

  expect(started).toEqual([false]);
  expect(await process.ended).toEqual({ exitCode: 0 });
  expect(readdirSync(folder)).toEqual(["ran"]);
});
