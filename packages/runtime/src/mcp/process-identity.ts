import { readFileSync } from "node:fs";

/** Tells a process from every other, also from a later one that got its number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** In ticks since the system started, as Linux counts. */
  readonly startTime: string;
  /** Which start of the system that was. */
  readonly boot: string;
}

/** Who has this number now; nothing when nobody has, and where the system does not tell. */
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

export function isSameProcess(one: ProcessIdentity | undefined, other: ProcessIdentity): boolean {
  return (
    one !== undefined &&
    one.pid === other.pid &&
    one.startTime === other.startTime &&
    one.boot === other.boot
  );
}
