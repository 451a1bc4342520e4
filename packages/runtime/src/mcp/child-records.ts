import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { McpLogger } from "./mcp-settings.ts";
import { killGroup } from "./child-transport.ts";

interface ChildRecord {
  /** The process that started it: while it lives, the child is its responsibility. */
  readonly owner: ProcessIdentity;
  readonly child: ProcessIdentity;
}

const FILE = /^mcp-child-\d+-\d+\.json$/;

/**
 * Remembers the servers that run, in a folder, one file for each. A process that
 * is killed cannot end its children; the next one finds them here.
 */
export class ChildRecords {
  readonly #folder: string;
  readonly #logger: McpLogger;

  constructor(folder: string, logger: McpLogger) {
    this.#folder = folder;
    this.#logger = logger;
  }

  /** Writes at once, because the crash may come at once. Returns what forgets it. */
  add(pid: number): () => void {
    const [owner, child] = [processIdentity(process.pid), processIdentity(pid)];
    if (owner === undefined || child === undefined) return () => undefined;
    const path = join(this.#folder, `mcp-child-${pid}-${child.startTime}.json`);
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      writeFileSync(path, JSON.stringify({ owner, child } satisfies ChildRecord));
    } catch (error) {
      // A server without a record runs as well; it is only not found after a crash.
      this.#logger.warn("an MCP server could not be recorded", { error });
    }
    return () => rmSync(path, { force: true });
  }

  /** Ends what a process that is no more has left behind. */
  reap(): void {
    for (const file of this.#files()) {
      const path = join(this.#folder, file);
      const record = readRecord(path);
      if (record !== undefined && isSameProcess(processIdentity(record.owner.pid), record.owner)) {
        continue;
      }
      const child = record?.child;
      if (child !== undefined && isSameProcess(processIdentity(child.pid), child)) {
        killGroup(child.pid, "SIGKILL");
        this.#logger.warn("an MCP server had outlived its agent and was ended", { pid: child.pid });
      }
      rmSync(path, { force: true });
    }
  }

  #files(): readonly string[] {
    try {
      return readdirSync(this.#folder).filter((name) => FILE.test(name));
    } catch {
      return [];
    }
  }
}

function readRecord(path: string): ChildRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(path, "utf8")) as ChildRecord;
    // Numbers below 2 would mean whole families of processes, not one.
    const isSound = [record.owner.pid, record.child.pid].every(
      (pid) => Number.isSafeInteger(pid) && pid > 1,
    );
    return isSound ? record : undefined;
  } catch {
    return undefined;
  }
}

/** Tells a process from every other, also from a later one that got its number. */
interface ProcessIdentity {
  readonly pid: number;
  /** In ticks since the system started, as Linux counts. */
  readonly startTime: string;
  /** Which start of the system that was. */
  readonly boot: string;
}

/** The process with this id now; undefined if there is none, or if the system does not say. */
export function processIdentity(pid: number): ProcessIdentity | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program is in parentheses and may hold anything; field 3 follows it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const [state, startTime] = [fields[0], fields[22 - 3]];
    if (startTime === undefined || state === "Z") return undefined;
    return { pid, startTime, boot };
  } catch {
    return undefined;
  }
}

function isSameProcess(one: ProcessIdentity | undefined, other: ProcessIdentity): boolean {
  return (
    one !== undefined &&
    one.pid === other.pid &&
    one.startTime === other.startTime &&
    one.boot === other.boot
  );
}
