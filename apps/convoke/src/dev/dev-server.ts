import { once } from "node:events";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { type ServeRequest, runServer } from "../host/run-server.ts";
import { loadEnvFile } from "../host/settings.ts";

/** Marks the process that serves: "first", or "reload" if it replaces another one. */
export const DEV_SERVER = "CONVOKE_DEV_SERVER";

/** What the process that serves tells its supervisor. */
export type DevMessage =
  | { readonly kind: "source"; readonly path: string }
  | { readonly kind: "loaded" }
  | { readonly kind: "listening"; readonly port: number };

/** The only message to the process that serves: the port and the data folder are free. */
export const START = "start";

/** A reload should be quick; tasks that take longer are recovered after it. */
const DRAIN_MS = "1000";

export function isDevServer(env: ServeRequest["io"]["env"]): boolean {
  return env[DEV_SERVER] !== undefined && process.send !== undefined;
}

/** Serves for a supervisor: reports the sources, loads the agent, and starts when it may. */
export async function runDevServer(request: ServeRequest): Promise<void> {
  const isReload = process.env[DEV_SERVER] === "reload";
  // The programs that the agent starts are no servers of this supervisor.
  delete process.env[DEV_SERVER];
  let isStarted = false;
  process.once("disconnect", () => {
    // The supervisor is gone.
    if (isStarted) process.kill(process.pid, "SIGTERM");
    else process.exit();
  });
  reportSources();
  loadEnvFile();
  process.env["CONVOKE_DRAIN_MS"] ||= DRAIN_MS;
  const loaded = async (): Promise<void> => {
    const start = once(process, "message");
    tell({ kind: "loaded" });
    await start;
    isStarted = true;
  };
  const listening = (port: number): void => tell({ kind: "listening", port });
  try {
    await runServer({ ...request, handover: { isReload, loaded, listening } });
  } finally {
    // The channel must not keep a process alive that could not start.
    process.channel?.unref();
  }
}

function tell(message: DevMessage): void {
  process.send?.(message);
}

/** Reports each imported file, also one that is missing: it may be created later. */
function reportSources(): void {
  registerHooks({
    resolve: (specifier, context, next) => {
      try {
        const resolved = next(specifier, context);
        report(resolved.url);
        return resolved;
      } catch (error) {
        const { parentURL } = context;
        if (/^\.{0,2}\//.test(specifier)) report(new URL(specifier, parentURL).href);
        throw error;
      }
    },
  });
}

function report(url: string): void {
  if (!url.startsWith("file:")) return;
  const path = fileURLToPath(url);
  if (!/[\\/]node_modules[\\/]/.test(path)) tell({ kind: "source", path });
}
