import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "@convoke/engine";
import { backoffMs } from "@convoke/protocol/internal";
import { type CommandIo, EXIT } from "../terminal/command.ts";
import { loadConfig } from "./config.ts";
import { type ServeRequest, announceStop, loggerFor, runServer, toFlags } from "./run-server.ts";
import { loadEnvFile, readSettings, readWorkers } from "./settings.ts";
import { explainStart } from "./start-problems.ts";

/** Marks a process that is one of several: its number and how many there are, as in "2/4". */
const WORKER = "CONVOKE_WORKER";

interface WorkersRequest extends ServeRequest {
  /** How many processes serve. Default: what the environment says, or one. */
  readonly workers: string | undefined;
}

/**
 * Serves in this process, or starts as many as the settings say, which share the port. Resolves when
 * they have stopped, to the exit code if this process only supervises them.
 */
export async function runWorkers(request: WorkersRequest): Promise<number | void> {
  const { io, workers } = request;
  const role = io.env[WORKER];
  if (role !== undefined && process.send !== undefined) return runWorker(request, role);
  loadEnvFile();
  const flags = { ...toFlags(request), workers };
  const count = readWorkers(flags, io.env);
  if (count === 1) return runServer(request);
  const settings = readSettings(flags, io.env, await loadConfig(request.config));
  const port = await freePort(settings).catch((error: unknown) => {
    throw explainStart(error, settings, flags);
  });
  const args = toArguments(request, port);
  return new Supervisor({ args, count, io, logger: loggerFor(settings, io) }).run(settings.drainMs);
}

/** Serves as one of several processes. */
async function runWorker(request: ServeRequest, role: string): Promise<void> {
  const [number = 1, count = 1] = role.split("/").map(Number);
  // The programs that the agent starts are no workers.
  delete process.env[WORKER];
  // Stops with its supervisor, however that ended.
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  process.channel?.unref();
  const ready = (banner: string): void => void process.send?.(banner);
  return runServer({ ...request, worker: { number, count, ready } });
}

/** The command line of a worker. */
function toArguments(request: ServeRequest, port: number): readonly string[] {
  const { files, processes = [], data, database, config } = request;
  const options = { data, database, config, port: String(port) };
  return [
    "serve",
    ...processes.flatMap((line) => ["--process", line]),
    ...Object.entries(options).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}`, value],
    ),
    "--",
    ...files,
  ];
}

interface Address {
  readonly port: number;
  readonly host: string;
}

/**
 * The port for all workers. It must not be in use: they could share it with a stranger that allows
 * that. Rejects also if the system cannot share ports.
 */
async function freePort({ port, host }: Address): Promise<number> {
  const free = await bind({ port, host }, false);
  return bind({ port: free, host }, true);
}

async function bind({ port, host }: Address, reusePort: boolean): Promise<number> {
  const server = createServer().listen({ port, host, reusePort });
  await once(server, "listening");
  const bound = (server.address() as AddressInfo).port;
  server.close();
  await once(server, "close");
  return bound;
}

/** How long to wait before a worker that ended is started again. */
const BACKOFF = { firstMs: 200, longestMs: 10_000 };

/** A worker that lived for this long did not end because of how it started. */
const STABLE_MS = 30_000;

interface Parts {
  readonly args: readonly string[];
  readonly count: number;
  readonly io: CommandIo;
  readonly logger: Logger;
}

/** Keeps workers running until the user stops them. */
class Supervisor {
  readonly #parts: Parts;
  /** The numbers of the workers that have been ready. */
  readonly #seen = new Set<number>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Resolves to the exit code: that of the first worker if it cannot start, otherwise of the stop. */
  async run(drainMs: number): Promise<number> {
    const { count, io } = this.#parts;
    const first = this.#start(1);
    // One explains why it cannot start, not all.
    const end = await Promise.race([first.ready, first.ended]);
    if (typeof end !== "string") return this.#exitCode(end);
    const others = Array.from({ length: count - 1 }, (_, index) => this.#start(index + 2));
    const kept = [first, ...others].map((worker) => this.#keep(worker));
    if (!io.signal.aborted) await once(io.signal, "abort");
    const isDone = announceStop(drainMs, io);
    const codes = await Promise.all(kept);
    isDone();
    return codes.find((code) => code !== EXIT.done.code) ?? EXIT.done.code;
  }

  /** Starts a worker again whenever it has ended. Resolves to its exit code after the stop. */
  async #keep(started: Worker): Promise<number> {
    const { io, logger } = this.#parts;
    let failures = 0;
    for (let worker = started; ; worker = this.#start(started.number)) {
      const end = await worker.ended;
      if (io.signal.aborted) return this.#exitCode(end);
      failures = end.livedMs > STABLE_MS ? 1 : failures + 1;
      const { number } = worker;
      const { code, signal } = end;
      logger.error("a worker ended and is started again", { worker: number, code, signal });
      await sleep(backoffMs(failures, BACKOFF), undefined, io).catch(() => undefined);
      if (io.signal.aborted) return EXIT.done.code;
    }
  }

  #start(number: number): Worker {
    const { args, count, io } = this.#parts;
    const worker = new Worker(number, args, `${number}/${count}`);
    const stop = (): void => worker.stop();
    if (io.signal.aborted) stop();
    else io.signal.addEventListener("abort", stop, { once: true });
    void worker.ended.then(() => io.signal.removeEventListener("abort", stop));
    void worker.ready.then((banner) => {
      if (this.#seen.size === count) return;
      if (this.#seen.add(number).size === count) io.stdout(banner);
    });
    return worker;
  }

  /** A worker that is stopped before it listens for signals is ended by one. */
  #exitCode({ code }: WorkerEnd): number {
    return code ?? (this.#parts.io.signal.aborted ? EXIT.done.code : EXIT.notStarted.code);
  }
}

interface WorkerEnd {
  /** `null` if a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly livedMs: number;
}

class Worker {
  readonly number: number;
  /** Resolves to the start message. */
  readonly ready: Promise<string>;
  readonly ended: Promise<WorkerEnd>;
  readonly #child: ChildProcess;

  constructor(number: number, args: readonly string[], role: string) {
    this.number = number;
    const startedAt = performance.now();
    const child = fork(process.argv[1]!, args, { env: { ...process.env, [WORKER]: role } });
    this.ready = new Promise((resolve) => {
      child.once("message", (banner) => resolve(banner as string));
    });
    this.ended = new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null): void =>
        resolve({ code, signal, livedMs: performance.now() - startedAt });
      child.once("exit", end);
      // It could not be started.
      child.once("error", () => end(null, null));
    });
    this.#child = child;
  }

  /** Lets it finish as after Ctrl+C. */
  stop(): void {
    this.#child.kill("SIGTERM");
  }
}
