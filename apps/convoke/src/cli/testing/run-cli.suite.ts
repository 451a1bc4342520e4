import { Readable } from "node:stream";
import type { Command, CommandIo } from "../../terminal/command.ts";
import { COMMANDS } from "../commands.ts";
import { main } from "../main.ts";
import { StdinText } from "../../terminal/stdin-text.ts";

// The agents that these tests call are those of the client's own tests.
export {
  type Call,
  events,
  failure,
  json,
  pagesV03,
  pagesV1,
  result,
  startFakeAgent,
} from "../../../../../test/client/fake-agent.ts";

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** How the program was started. Default: `convoke`. */
  readonly program?: string;
  /** As on a terminal, with colours. */
  readonly isTerminal?: boolean;
  /** The terminal that the user sits at. Default: none. */
  readonly terminal?: Required<Pick<CommandIo, "keyboard" | "screen">>;
  /** The piped input. Default: none. */
  readonly stdin?: string | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  readonly signal?: AbortSignal;
  /** Receives the function that acts like Ctrl+C, if the command handles it. */
  readonly onInterrupt?: (interrupt: () => void) => void;
  readonly onStdout?: (text: string) => void;
  readonly onStderr?: (text: string) => void;
  readonly commands?: readonly Command[];
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `convoke` in this process and captures its output. */
export async function runCli(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const { env = {}, isTerminal = false, signal = new AbortController().signal } = options;
  const { stdin = "" } = options;
  const bytes = typeof stdin === "string" ? [Buffer.from(stdin)] : stdin;
  let stdout = "";
  let stderr = "";
  const code = await main(
    args,
    {
      stdout: (text) => {
        stdout += text;
        options.onStdout?.(text);
      },
      stderr: (text) => {
        stderr += text;
        options.onStderr?.(text);
      },
      env,
      started: { program: options.program ?? "convoke" },
      isTTY: { stdout: isTerminal, stderr: isTerminal },
      stdin: new StdinText(() => Readable.from(bytes)),
      ...options.terminal,
      signal,
      onInterrupt: (interrupted) => {
        options.onInterrupt?.(interrupted);
        return () => undefined;
      },
    },
    options.commands === undefined
      ? COMMANDS
      : new Map(options.commands.map((command) => [command.name, async () => command])),
  );
  return { code, stdout, stderr };
}
