import { type ChildProcess, spawn } from "node:child_process";
import type { ClientResult } from "../probe-server/visit.ts";
import type { DriveClient, OfferedProbe } from "./check-client.ts";

/** The exit code of a command that does not support what a probe is about, as in Automake. */
const UNSUPPORTED = 77;

/** More output than this is cut off. */
const MAX_OUTPUT = 4 * 1024 * 1024;

/**
 * Runs a shell command once for each probe. What it prints to stdout is the text that it received.
 * Exit code 77 means that it does not support what the probe is about, any other but 0 an error.
 */
export function clientCommand(command: string): DriveClient {
  return async (probe, signal) => {
    const child = start(command, environmentFor(probe), signal);
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
    return resultOf(await closed(child), stdout(), stderr());
  };
}

/**
 * Runs a command once; it fetches the list of probes and reports the results itself. Its stderr is
 * passed on. Resolves to its exit code.
 */
export async function driverCommand(
  command: string,
  listUrl: string,
  signal: AbortSignal,
): Promise<number | null> {
  const child = start(command, { CONVOKE_PROBES_URL: listUrl }, signal, ["ignore", "inherit"]);
  return closed(child);
}

/** Resolves to the exit code, or to null if the command could not be started or was stopped. */
function closed(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    child.once("error", () => resolve(null));
    child.once("close", resolve);
  });
}

function environmentFor(probe: OfferedProbe): Readonly<Record<string, string>> {
  const { token } = probe;
  return {
    CONVOKE_PROBE: probe.probe,
    CONVOKE_CARD_URL: probe.cardUrl,
    CONVOKE_ACTION: probe.action,
    CONVOKE_INSTRUCTION: probe.instruction,
    CONVOKE_BINDING: probe.binding,
    CONVOKE_VERSION: probe.version,
    ...(token !== undefined && { CONVOKE_TOKEN: token }),
  };
}

function start(
  command: string,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
  [stdout, stderr]: readonly ["pipe" | "ignore", "pipe" | "inherit"] = ["pipe", "pipe"],
): ChildProcess {
  const child = spawn(command, {
    shell: true,
    // A group of its own, so that what the shell has started ends with it.
    detached: true,
    env: { ...process.env, ...env },
    stdio: ["ignore", stdout, stderr],
  });
  const stop = (): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  };
  signal.addEventListener("abort", stop, { once: true });
  child.once("close", () => signal.removeEventListener("abort", stop));
  return child;
}

function collect(output: NodeJS.ReadableStream | null): () => string {
  const pieces: Buffer[] = [];
  let length = 0;
  output?.on("data", (piece: Buffer) => {
    if (length < MAX_OUTPUT) pieces.push(piece);
    length += piece.length;
  });
  return () => Buffer.concat(pieces).toString();
}

function resultOf(code: number | null, stdout: string, stderr: string): ClientResult {
  if (code === 0) return { kind: "text", text: stdout };
  if (code === UNSUPPORTED) {
    return { kind: "unsupported", reason: stderr.trim() || stdout.trim() || "exit code 77" };
  }
  return { kind: "error", error: stderr.trim() || stdout.trim() || `exit code ${code}` };
}
