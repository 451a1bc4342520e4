import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Program } from "./running-program.ts";

/** Where Node caches compiled code; the same scripts are started many times. */
const COMPILE_CACHE = process.env["NODE_COMPILE_CACHE"] ?? join(tmpdir(), "node-compile-cache");

/**
 * A script in its own process, on the live sources. It calls `reportReady` when it is ready, and
 * ends by itself when this process is gone.
 */
export class ScriptProcess extends Program {
  /** Resolves to the line that `reportReady` printed, usually a URL. */
  readonly ready: Promise<string>;

  constructor(script: URL, env: Readonly<Record<string, string>> = {}) {
    super(process.execPath, ["--conditions=@convoke/source", fileURLToPath(script)], {
      env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
      stdin: "pipe",
      timeoutMs: 0,
    });
    this.ready = this.until((stdout) => /^(.*)\n/.exec(stdout)?.[1]);
    // A test may kill it before it is ready.
    this.ready.catch(() => undefined);
  }
}
