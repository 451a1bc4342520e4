import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { BIN } from "./typist.ts";

export interface TmuxOptions {
  readonly tmux: string;
  readonly columns?: number;
  readonly rows?: number;
}

const POLL_MS = 50;

const PATIENCE_MS = 25_000;

/** A user who runs `convoke` in tmux: the screen is what a real terminal shows. */
export class TmuxTerminal {
  readonly #tmux: string;
  readonly #socket: string;

  constructor(args: readonly string[], { tmux, columns = 80, rows = 30 }: TmuxOptions) {
    const home = temporaryFolder();
    this.#tmux = tmux;
    this.#socket = join(home, "tmux");
    const command = [process.execPath, BIN, ...args].map((word) => `'${word}'`).join(" ");
    // What is typed after the end shows whether the terminal was given back as it was.
    const shell = `HOME='${home}' ${command}; echo "exit code $?"; exec cat`;
    const size = ["-x", String(columns), "-y", String(rows)];
    this.#run("-f", "/dev/null", "new-session", "-d", "-s", "chat", ...size, shell);
    onTestFinished(() => void this.#run("kill-server"));
  }

  /** Types keys by their names in tmux, such as `Enter` and `C-c`. */
  press(...keys: readonly string[]): void {
    this.#run("send-keys", "-t", "chat", ...keys);
  }

  type(text: string): void {
    this.#run("send-keys", "-t", "chat", "-l", text);
  }

  /** Pastes as a terminal does, with the marks that the program asked for. */
  paste(text: string): void {
    this.#run("set-buffer", text);
    this.#run("paste-buffer", "-p", "-t", "chat");
  }

  resize(columns: number, rows: number): void {
    this.#run("resize-window", "-t", "chat", "-x", String(columns), "-y", String(rows));
  }

  /** The visible lines; with colours as escape sequences. */
  screen(hasColours = false): string {
    return this.#run("capture-pane", "-p", ...(hasColours ? ["-e"] : []), "-t", "chat").trimEnd();
  }

  /** Waits until it is on the screen. */
  async sees(wanted: RegExp): Promise<void> {
    const end = Date.now() + PATIENCE_MS;
    while (!wanted.test(this.screen())) {
      if (Date.now() > end) throw new Error(`${wanted} is not on the screen:\n${this.screen()}`);
      await sleep(POLL_MS);
    }
  }

  #run(...args: readonly string[]): string {
    return execFileSync(this.#tmux, ["-S", this.#socket, ...args], { encoding: "utf8" });
  }
}
