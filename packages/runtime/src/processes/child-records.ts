import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { killGroup, killMarked } from "./child-group.ts";

interface RecordsLogger {
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

interface ChildRecord {
  /**
   * The process that started the child. While it is alive, it is responsible for ending the child.
   */
  readonly owner: ProcessIdentity;
  readonly child: ProcessIdentity;
  /** The mark of the child and its descendants, if they have one. */
  readonly mark?: string;
}

/** What the children are. */
interface ChildKind {
  /** Starts the names of the files, such as `mcp-child`. */
  readonly prefix: string;
  /** For the log, such as "an MCP server". */
  readonly name: string;
}

/**
 * Records running children in a folder, one file per child. A process that is killed cannot end its
 * children, so the next process finds them here and ends them.
 */
export class ChildRecords {
  readonly #folder: string;
  readonly #kind: ChildKind;
  readonly #logger: RecordsLogger;

  constructor(folder: string, kind: ChildKind, logger: RecordsLogger) {
    this.#folder = folder;
    this.#kind = kind;
    this.#logger = logger;
  }

  /**
   * Writes synchronously, because a crash may follow immediately. Returns a function that removes
   * the record. `mark` is the value of the variable that marks the child.
   */
  add(pid: number, mark?: string): () => void {
    const [owner, child] = [processIdentity(process.pid), processIdentity(pid)];
    if (owner === undefined || child === undefined) return () => undefined;
    const path = join(this.#folder, `${this.#kind.prefix}-${pid}-${child.startTime}.json`);
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      const record: ChildRecord = { owner, child, ...(mark !== undefined && { mark }) };
      writeFileSync(path, JSON.stringify(record));
    } catch (error) {
      // A child without a record still works; it just cannot be found after a crash.
      this.#logger.warn(`${this.#kind.name} could not be recorded`, { error });
    }
    return () => rmSync(path, { force: true });
  }

  /** Ends the children that a dead process left behind. */
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
        this.#logger.warn(`${this.#kind.name} had outlived its agent and was ended`, {
          pid: child.pid,
        });
      }
      // The child itself may be gone while something that it started still runs.
      if (record?.mark !== undefined) killMarked(record.mark);
      rmSync(path, { force: true });
    }
  }

  #files(): readonly string[] {
    try {
      return readdirSync(this.#folder).filter(
        (name) => name.startsWith(`${this.#kind.prefix}-`) && /-\d+-\d+\.json$/.test(name),
      );
    } catch {
      return [];
    }
  }
}

function readRecord(path: string): ChildRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(path, "utf8")) as ChildRecord;
    // For `kill`, numbers below 2 address process groups or every process, not a single one.
    const isSound = [record.owner.pid, record.child.pid].every(
      (pid) => Number.isSafeInteger(pid) && pid > 1,
    );
    return isSound && isMark(record.mark) ? record : undefined;
  } catch {
    return undefined;
  }
}

/** A short mark could be part of another. */
function isMark(mark: string | undefined): boolean {
  return mark === undefined || /^[\w-]{16,}$/.test(mark);
}

/** Distinguishes a process from every other one, including a later process that reuses its pid. */
interface ProcessIdentity {
  readonly pid: number;
  /** In clock ticks since boot, as Linux reports it. */
  readonly startTime: string;
  /** The boot id of the system, because ticks start over after a reboot. */
  readonly boot: string;
}

/**
 * The identity of the running process with this pid, or undefined if there is none or the system
 * does not report it.
 */
export function processIdentity(pid: number): ProcessIdentity | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The program name is in parentheses and may contain anything, including spaces and
    // parentheses. Field 3 follows the last closing one.
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
