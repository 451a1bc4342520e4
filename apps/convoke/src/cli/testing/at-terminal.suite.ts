import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { ReadStream, WriteStream } from "node:tty";
import { onTestFinished } from "vitest";
import { VirtualScreen } from "../../screen/testing/virtual-screen.suite.ts";
import { type Finished, runCli } from "./run-cli.suite.ts";

export interface TerminalOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
}

/** A user at a terminal. */
export interface AtTerminal {
  readonly screen: VirtualScreen;
  readonly home: string;
  type(text: string): void;
  readonly ended: Promise<Finished>;
}

/** A folder that is removed when the test ends. */
export function aHome(): string {
  const home = mkdtempSync(join(tmpdir(), "convoke-home-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** Runs `convoke` in this process, at a terminal in memory. */
export function atTerminal(args: readonly string[], options: TerminalOptions = {}): AtTerminal {
  const { env = {}, columns = 80, rows = 30 } = options;
  const home = env["HOME"] ?? aHome();
  const screen = new VirtualScreen(columns, rows);
  const keyboard = Object.assign(new PassThrough(), { setRawMode: () => undefined, isTTY: true });
  const terminal = {
    keyboard: keyboard as unknown as ReadStream,
    screen: screen as unknown as WriteStream,
  };
  const stop = new AbortController();
  const ended = runCli(args, {
    env: { HOME: home, NO_COLOR: "1", ...env },
    isTerminal: true,
    terminal,
    signal: stop.signal,
  });
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  return { screen, home, type: (text) => void keyboard.write(text), ended };
}
