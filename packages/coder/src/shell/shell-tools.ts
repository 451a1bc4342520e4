import {
  type ConfirmRule,
  type Tool,
  type ToolContext,
  type ToolYield,
  tool,
} from "@convoke/runtime";
import { ChildRecords } from "@convoke/runtime/processes";
import { oneLine } from "@convoke/protocol/internal";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type ParsedCommand, parseArgv, parseCommand } from "../command-line/parse-command.ts";
import { commandPreview } from "../events/call-details.ts";
import { isInside, realPlace } from "../policy/path-glob.ts";
import { type Decision, NO_SANDBOX, type Policy } from "../policy/policy.ts";
import { isReadOnly } from "../policy/safe-commands.ts";
import type { Mode } from "../policy/verdict.ts";
import { type SessionKey, sessionKey } from "../storage/session-key.ts";
import { BackgroundProcesses } from "./background-processes.ts";
import { backgroundTools } from "./background-tools.ts";
import { runForeground } from "./run-foreground.ts";
import type { Sandbox } from "./sandbox.ts";
import { shellEnvironment } from "./shell-environment.ts";

/** How the shell tools of a coding agent work. */
export interface ShellToolsOptions {
  readonly policy: Policy;
  /** The mode of a conversation, asked for at each call. */
  readonly mode: (session: SessionKey) => Mode;
  /** The folders of the workspace. Commands start in the first, or in a folder in one of them. */
  readonly roots: readonly [string, ...string[]];
  /** From `openSandbox`. Without it, every command needs an approval. */
  readonly sandbox: Sandbox | undefined;
  /**
   * A folder for records of running commands, so that the next start can end what a crash left
   * behind. Without it they keep running. Only Linux supports this.
   */
  readonly folder?: string;
  /** Variables of the server that commands get. Default none except the usual harmless ones. */
  readonly passEnvironment?: readonly string[];
  /** How long a command may run if the call does not say. Default 2 minutes. */
  readonly timeoutMs?: number;
  /** The longest time that a call may ask for. Default 10 minutes. */
  readonly maxTimeoutMs?: number;
  /** Called before a command that may change files, such as to make a checkpoint. */
  readonly beforeChange?: (context: ToolContext) => void | Promise<void>;
  readonly logger?: { warn(message: string, fields?: Readonly<Record<string, unknown>>): void };
}

/** The tools, and what ends the processes they left running. */
export interface ShellTools {
  readonly tools: readonly Tool[];
  close(): Promise<void>;
}

interface RunInput {
  readonly command?: string;
  readonly argv?: readonly string[];
  readonly cwd?: string;
  readonly timeoutMs?: number;
  readonly background?: boolean;
}

const CHILDREN = { prefix: "shell-child", name: "a command" };

const NO_LOGGER = { warn: () => undefined };

/** Creates `run_shell`, `shell_output`, `shell_input` and `shell_kill`. */
export function createShellTools(options: ShellToolsOptions): ShellTools {
  const { folder, logger = NO_LOGGER } = options;
  const records = folder === undefined ? undefined : new ChildRecords(folder, CHILDREN, logger);
  records?.reap();
  const background = new BackgroundProcesses();
  return {
    tools: [
      new RunShell(options, records, background).tool(),
      ...backgroundTools(background, (name, kind) => toolRule(options, name, kind)),
    ],
    close: () => background.close(),
  };
}

/** A rule for the tools that do not start anything. */
function toolRule(
  { policy, mode, sandbox }: ShellToolsOptions,
  name: string,
  kind: "read" | "other",
): ConfirmRule {
  return ({ caller, turn }) => {
    const session = sessionKey(caller, turn.task.contextId);
    const { verdict, reasons } = policy.decide({ tool: name, kind }, mode(session));
    const isOpen = kind === "other" && sandbox === undefined;
    if (verdict === "deny" || (verdict === "allow" && !isOpen)) return verdict;
    return { prompt: [...reasons, ...(isOpen ? [NO_SANDBOX] : [])].join("; "), risk: "danger" };
  };
}

class RunShell {
  readonly #options: ShellToolsOptions;
  readonly #records: ChildRecords | undefined;
  readonly #background: BackgroundProcesses;
  readonly #env: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;
  readonly #maxTimeoutMs: number;

  constructor(
    options: ShellToolsOptions,
    records: ChildRecords | undefined,
    background: BackgroundProcesses,
  ) {
    this.#options = options;
    this.#records = records;
    this.#background = background;
    this.#env = shellEnvironment(options.passEnvironment ?? [], options.roots);
    this.#maxTimeoutMs = options.maxTimeoutMs ?? 600_000;
    this.#timeoutMs = Math.min(options.timeoutMs ?? 120_000, this.#maxTimeoutMs);
  }

  tool(): Tool {
    const limits = this.#options.sandbox
      ? "Commands run in a sandbox: only the workspace is writable."
      : "There is no sandbox here, so each command needs an approval.";
    return tool({
      name: "run_shell",
      description:
        "Runs a command in the workspace and returns its output and exit code. Give either " +
        "`command`, a line for the shell, or `argv`, a program with its arguments without a shell. " +
        "Use `background` for servers and watchers, and read them with shell_output. " +
        limits,
      inputSchema: this.#schema(),
      confirm: this.#confirm,
      // A call that times out by its own limit still reports its output.
      timeoutMs: this.#maxTimeoutMs + 30_000,
      run: (input, context) => this.#run(input, context),
    });
  }

  #schema() {
    return {
      type: "object",
      properties: {
        command: { type: "string", description: "A line for the shell." },
        argv: { type: "array", items: { type: "string" }, minItems: 1 },
        cwd: { type: "string", description: "The folder, relative to the workspace." },
        timeoutMs: {
          type: "integer",
          minimum: 1,
          maximum: this.#maxTimeoutMs,
          description: `After this time the command is ended. Default ${this.#timeoutMs}.`,
        },
        background: { type: "boolean", description: "Return at once and keep it running." },
      },
      additionalProperties: false,
    } as const;
  }

  readonly #confirm: ConfirmRule = async (call) => {
    const input = call.input as RunInput;
    const session = sessionKey(call.caller, call.turn.task.contextId);
    const { decision, parsed, cwd } = await this.#decide(input, session);
    if (decision.verdict !== "ask") return decision.verdict;
    return {
      title: `Run ${oneLine(lineOf(input), 200)}`,
      prompt: [
        ...described(parsed),
        ...decision.reasons.map((reason) => `- ${oneLine(reason, 300)}`),
      ].join("\n"),
      // A decision for longer would cover every other command too.
      risk: "danger",
      preview: [
        commandPreview({
          command: lineOf(input),
          commands: parsed.commands.map((argv) => wordsOf(argv).join(" ")),
          ...(cwd !== undefined && { cwd }),
        }),
      ],
    };
  };

  async #decide(input: RunInput, session: SessionKey): Promise<Decided> {
    const { policy, mode, sandbox } = this.#options;
    const { command, argv } = input;
    const parsed = await (argv === undefined ? parseCommand(command ?? "") : parseArgv(argv));
    const cwd = this.#cwd(input);
    const isSandboxed = sandbox !== undefined;
    const decision =
      cwd === undefined
        ? ({ verdict: "deny", reasons: ["cwd is outside the workspace"] } as const)
        : policy.decideCommand(
            { tool: "run_shell", command: parsed, cwd, isSandboxed },
            mode(session),
          );
    return { parsed, decision, cwd };
  }

  /** The real folder, or undefined if it is outside the workspace. */
  #cwd({ cwd = "." }: RunInput): string | undefined {
    const { roots } = this.#options;
    const place = realPlace(resolve(roots[0], cwd));
    return roots.some((root) => isInside(place, root)) ? place : undefined;
  }

  async *#run(input: RunInput, context: ToolContext): AsyncGenerator<ToolYield, unknown> {
    if ((input.command === undefined) === (input.argv === undefined)) {
      throw new Error("give either command or argv");
    }
    // An approval may have edited the command, but it cannot lift a rule that denies it.
    const session = sessionKey(context.caller, context.contextId);
    const { decision, parsed, cwd } = await this.#decide(input, session);
    if (decision.verdict === "deny" || cwd === undefined) {
      throw new Error(`not allowed: ${decision.reasons.join("; ")}`);
    }
    if (mayChange(parsed)) await this.#options.beforeChange?.(context);
    context.stopped.throwIfAborted();
    const argv = input.argv ?? [...shell(), input.command!];
    const start = {
      argv: this.#options.sandbox?.wrap(argv, cwd) ?? argv,
      cwd,
      env: this.#env,
      records: this.#records,
    };
    if (input.background === true) {
      return { processId: this.#background.start(start, session) };
    }
    return yield* runForeground(start, input.timeoutMs ?? this.#timeoutMs, context.stopped);
  }
}

interface Decided {
  readonly parsed: ParsedCommand;
  readonly decision: Decision;
  readonly cwd: string | undefined;
}

function mayChange({ commands, writes, unknowns }: ParsedCommand): boolean {
  return unknowns.length + writes.length > 0 || !commands.every(isReadOnly);
}

function shell(): readonly string[] {
  return existsSync("/bin/bash") ? ["/bin/bash", "--noprofile", "--norc", "-c"] : ["/bin/sh", "-c"];
}

function lineOf({ command, argv = [] }: RunInput): string {
  return command ?? argv.join(" ");
}

/** What was found in a command line. */
function described({ commands, writes }: ParsedCommand): readonly string[] {
  const runs = commands.map((argv) => `runs ${wordsOf(argv).join(" ")}`);
  return [...runs, ...writes.map((file) => `writes ${file}`)];
}

function wordsOf(argv: ParsedCommand["commands"][number]): readonly string[] {
  return argv.map((word) => word ?? "…");
}
