/** Sends a signal to a child and everything it started. Whoever is already gone is no error. */
export function killGroup(pid: number, signal: NodeJS.Signals): void {
  for (const target of process.platform === "win32" ? [pid] : [-pid, pid]) {
    try {
      process.kill(target, signal);
      return;
    } catch {
      // Without a group of its own, or gone.
    }
  }
}

// One list for the process, because it ends once: a listener for each child
// would be reported as a leak.
const living = new Set<number>();
const killAll = (): void => living.forEach((pid) => killGroup(pid, "SIGKILL"));

/** Ends the child's group when this process exits. Returns what forgets it. */
export function killAtExit(pid: number): () => void {
  if (living.size === 0) process.on("exit", killAll);
  living.add(pid);
  return () => {
    living.delete(pid);
    if (living.size === 0) process.off("exit", killAll);
  };
}
