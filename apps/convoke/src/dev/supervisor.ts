import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import type { CommandIo } from "../terminal/command.ts";
import { DEV_SERVER, type DevMessage, START } from "./dev-server.ts";
import { SourceWatcher } from "./source-watcher.ts";

/**
 * Keeps a server running. After each change of a source, a new process loads the agent while the old
 * one still serves; then the old one stops, and the new one takes over its port and its tasks.
 */
export class Supervisor {
  readonly #args: readonly string[];
  readonly #io: CommandIo;
  readonly #sources = new SourceWatcher();
  readonly #stopped: Promise<unknown>;
  #port: number | undefined;
  #serving: ServerProcess | undefined;
  #loading: ServerProcess | undefined;

  constructor(args: readonly string[], io: CommandIo) {
    this.#args = args;
    this.#io = io;
    this.#stopped = io.signal.aborted ? Promise.resolve() : once(io.signal, "abort");
    this.#sources.add(resolve(".env"));
  }

  /** Resolves when the user has stopped it. */
  async run(): Promise<void> {
    try {
      while (!this.#io.signal.aborted) {
        await this.#load();
        await Promise.race([this.#sources.changed, this.#stopped]);
      }
    } finally {
      this.#sources.close();
      this.#loading?.kill();
      await this.#serving?.stop();
    }
  }

  /** Loads the current sources, and puts them into service if they can be loaded. */
  async #load(): Promise<void> {
    this.#sources.forget();
    const next = this.#startProcess();
    this.#loading = next;
    const { changed } = this.#sources;
    await Promise.race([next.loaded, next.ended, changed, this.#stopped]);
    if (next.isLoaded) {
      this.#loading = undefined;
      await this.#serving?.stop();
      this.#serving = next;
      next.start();
    } else if (next.isEnded) {
      this.#waitForChange(this.#serving !== undefined);
    } else {
      next.kill();
    }
  }

  #startProcess(): ServerProcess {
    const port = this.#port === undefined ? [] : ["--port", String(this.#port)];
    const mark = this.#serving === undefined ? "first" : "reload";
    const started = new ServerProcess([...this.#args, ...port], mark, (message) => {
      if (message.kind === "source") this.#sources.add(message.path);
      if (message.kind === "listening") this.#port = message.port;
    });
    void started.ended.then(() => {
      if (this.#serving !== started || started.isStopping || this.#io.signal.aborted) return;
      this.#serving = undefined;
      this.#waitForChange(false);
    });
    return started;
  }

  #waitForChange(isServing: boolean): void {
    const old = isServing ? "The previous version keeps running. " : "";
    this.#io.stderr(`${old}Waiting for a change of the sources.\n`);
  }
}

/** A process that serves or is about to. */
class ServerProcess {
  readonly loaded: Promise<void>;
  readonly ended: Promise<void>;
  isLoaded = false;
  isEnded = false;
  isStopping = false;
  readonly #child: ChildProcess;

  constructor(args: readonly string[], mark: string, told: (message: DevMessage) => void) {
    const env = { ...process.env, [DEV_SERVER]: mark };
    this.#child = fork(process.argv[1]!, args, { env });
    const loaded = Promise.withResolvers<void>();
    this.loaded = loaded.promise;
    this.#child.on("message", (message) => {
      told(message as DevMessage);
      if ((message as DevMessage).kind !== "loaded") return;
      this.isLoaded = true;
      loaded.resolve();
    });
    this.ended = new Promise((resolve) => {
      this.#child.once("exit", () => {
        this.isEnded = true;
        resolve();
      });
    });
  }

  start(): void {
    // If it has just ended, there is nobody to tell; `ended` says so.
    this.#child.send(START, () => undefined);
  }

  /** Lets it finish as after Ctrl+C. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.#child.kill("SIGTERM");
    await this.ended;
  }

  /** For one that does not serve yet. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }
}
