import { readFileSync, readdirSync } from "node:fs";

/**
 * The variables that programs need to run at all. Any other variable may hold one of our secrets.
 */
const INHERITED =
  process.platform === "win32"
    ? [
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMDATA",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "USERNAME",
        "USERPROFILE",
        "WINDIR",
      ]
    : [
        "HOME",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
      ];

/** The environment of a child: a few harmless inherited variables plus the given ones. */
export function childEnvironment(
  given: Readonly<Record<string, string>>,
  ours: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of INHERITED) {
    const value = ours[name];
    // Exported shell functions are code, so they are not passed on.
    if (value !== undefined && !value.startsWith("()")) environment[name] = value;
  }
  return { ...environment, ...given };
}

/** Sends a signal to a child and everything it started. A process that is already gone is not an error. */
export function killGroup(pid: number, signal: NodeJS.Signals): void {
  for (const target of process.platform === "win32" ? [pid] : [-pid, pid]) {
    try {
      process.kill(target, signal);
      return;
    } catch {
      // The process has no group of its own, or is already gone.
    }
  }
}

// All children share one exit listener, because Node reports one listener per child as a leak.
const living = new Set<number>();

const killAll = (): void => living.forEach((pid) => killGroup(pid, "SIGKILL"));

/**
 * Kills the child's process group when this process exits. Returns a function that unregisters it.
 */
export function killAtExit(pid: number): () => void {
  if (living.size === 0) process.on("exit", killAll);
  living.add(pid);
  return () => {
    living.delete(pid);
    if (living.size === 0) process.off("exit", killAll);
  };
}

/** The variable that marks a child and everything it starts. */
export const MARK = "CONVOKE_PROCESS_MARK";

/**
 * Kills every process that has the mark in its environment. This also finds processes that have
 * left the group of their parent. Only Linux reports environments; elsewhere nothing is found.
 */
export function killMarked(mark: string): void {
  for (const pid of processIds()) {
    if (pid === process.pid || !isMarked(pid, mark)) continue;
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It is already gone.
    }
  }
}

function processIds(): readonly number[] {
  try {
    return readdirSync("/proc")
      .map(Number)
      .filter((pid) => Number.isSafeInteger(pid) && pid > 1);
  } catch {
    return [];
  }
}

function isMarked(pid: number, mark: string): boolean {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, "latin1")}`.includes(`\0${MARK}=${mark}\0`);
  } catch {
    return false;
  }
}
