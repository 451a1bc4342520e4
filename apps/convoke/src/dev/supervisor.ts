import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { type CommandIo, EXIT } from "../terminal/command.ts";
import { DEV_SERVER, type DevMessage, START } from "./dev-server.ts";
import { SourceWatcher } from "./source-watcher.ts";

/**
 * Keeps a server running. After each change of a source, a new process loads the agent while the old
 * one still serves; then the old one stops, and the new one takes over its port and its tasks.
 */
export class Supervisor {
  readonly #agents: readonly string[];
  readonly #args: readonly string[];
  readonly #io: CommandIo;
  readonly #sources = new SourceWatcher();
  /** The exit code, when nothing is left to do. */
  readonly #stopped: Promise<number>;
  readonly #failed = Promise.withResolvers<number>();
  #port: number | undefined;
  #serving: ServerProcess | undefined;
  #loading: ServerProcess | undefined;

  /** `agents` are the real paths of the agents' files, and `args` are those of `convoke`. */
  constructor(agents: readonly string[], args: readonly string[], io: CommandIo) {
    this.#agents = agents;
    this.#args = args;
    this.#io = io;
    const aborted = io.signal.aborted ? Promise.resolve() : once(io.signal, "abort");
    this.#stopped = Promise.race([aborted.then(() => EXIT.done.code), this.#failed.promise]);
    this.#sources.add(resolve(".env"));
  }

  /** Resolves to the exit code when the user has stopped it, or if it cannot start at all. */
  async run(): Promise<number> {
    try {
      for (;;) {
        await this.#load();
        const code = await Promise.race([this.#stopped, this.#sources.changed]);
        if (code !== undefined) return code;
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
    this.#loading = undefined;
    if (!next.isLoaded) return next.kill();
    await this.#serving?.stop();
    this.#serving = next;
    next.start();
  }

  #startProcess(): ServerProcess {
    const port = this.#port === undefined ? [] : ["--port", String(this.#port)];
    const mark = this.#serving === undefined ? "first" : "reload";
    const started = new ServerProcess([...this.#args, ...port], mark, (message) => {
      if (message.kind === "source") this.#sources.add(message.path);
      if (message.kind === "listening") this.#port = message.port;
    });
    void started.ended.then((code) => {
      if (!started.isStopping && !this.#io.signal.aborted) this.#explainEnd(started, code);
    });
    return started;
  }

  /** A process ended by itself, and has printed why. */
  #explainEnd(ended: ServerProcess, code: number): void {
    if (this.#serving === ended) this.#serving = undefined;
    // The reason is not in the sources: for example, the port is in use.
    const isHopeless = ended.isLoaded || !this.#agents.some((agent) => this.#sources.has(agent));
    if (this.#port === undefined && isHopeless) return this.#failed.resolve(code);
    const old = this.#serving === undefined ? "" : "The previous version keeps running. ";
    this.#io.stderr(`${old}Waiting for a change of the sources.\n`);
  }
}

/** A process that serves or is about to. */
class ServerProcess {
  readonly loaded: Promise<void>;
  /** Resolves to the exit code. */
  readonly ended: Promise<number>;
  isLoaded = false;
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
      this.#child.once("exit", (code) => resolve(code ?? EXIT.notStarted.code));
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
    this.isStopping = true;
    this.#child.kill("SIGKILL");
  }
}
