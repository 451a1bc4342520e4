import { execFile } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { promisify } from "node:util";

/** The resident memory of all processes of a group, in bytes. */
export async function groupMemory(group: number): Promise<number> {
  const sizes = process.platform === "linux" ? await fromProc(group) : await fromPs(group);
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function fromProc(group: number): Promise<readonly number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  return Promise.all(
    pids.map(async (pid) => {
      try {
        const stat = await readFile(`/proc/${pid}/stat`, "utf8");
        // The name of the program is in parentheses and may contain anything.
        const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        if (Number(fields[2]) !== group) return 0;
        const status = await readFile(`/proc/${pid}/status`, "utf8");
        return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
      } catch {
        // The process is gone.
        return 0;
      }
    }),
  );
}

async function fromPs(group: number): Promise<readonly number[]> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pgid=,rss="]);
  return stdout.split("\n").map((line) => {
    const [pgid, kilobytes] = line.trim().split(/\s+/).map(Number);
    return pgid === group && kilobytes !== undefined ? kilobytes * 1024 : 0;
  });
}
