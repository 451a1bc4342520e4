import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { needs } from "../needs.ts";
import { keptPort } from "./kept-port.ts";
import { Program } from "./running-program.ts";

/** Only who knows these can use the server. */
const USER = "ann";
const PASSWORD = "p%ss";

/** The tests of a file or of a `describe` need NATS. Returns a server that is not started yet. */
export function needsNats(): () => Promise<NatsServer> {
  const program = needs("nats");
  return async () => new NatsServer(program(), await keptPort());
}

/** A NATS server that can be killed and started again at the same address. */
export class NatsServer {
  readonly url: string;
  readonly #path: string;
  readonly #port: number;
  #process: Program | undefined;

  constructor(path: string, port: number) {
    this.#path = path;
    this.#port = port;
    this.url = `nats://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`;
  }

  /** Resolves when it accepts connections. */
  async start(): Promise<void> {
    const place = ["--addr", "127.0.0.1", "--port", String(this.#port)];
    const args = [...place, "--user", USER, "--pass", PASSWORD];
    this.#process = new Program(this.#path, args, { timeoutMs: 0 });
    while (!(await accepts(this.#port))) {
      if (this.#process.end !== undefined) throw new Error(this.#process.stderr);
      await sleep(20);
    }
  }

  /** Stops answering, without closing connections. */
  pause(): void {
    this.#process?.signal("SIGSTOP");
  }

  resume(): void {
    this.#process?.signal("SIGCONT");
  }

  async kill(): Promise<void> {
    await this.#process?.kill();
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const answer = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once("connect", () => answer(true));
    socket.once("error", () => answer(false));
  });
}
