import {
  type Mode,
  Policy,
  type PolicyRule,
  type ShellTools,
  type ShellToolsOptions,
  createShellTools,
  openSandbox,
} from "@convoke/coder";
import type { ToolContext } from "@convoke/runtime";
import { randomUUID } from "node:crypto";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, onTestFinished } from "vitest";
import { needs } from "../needs.ts";
import { NEEDS } from "../system-programs.ts";

/** A folder that is removed when the test ends. */
export function aFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "coder-shell-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * The tests need bubblewrap, and a system on which it works: some containers forbid it. Otherwise
 * they are skipped as by `needs`.
 */
export function needsSandbox(): () => string {
  const path = needs("bubblewrap");
  beforeEach(async (context) => {
    const env = { CONVOKE_BWRAP: path() };
    if (await openSandbox({ roots: [tmpdir()], network: false }, env)) return;
    const problem = `${NEEDS}a system that lets bubblewrap create namespaces`;
    if (process.env["CONVOKE_TEST_REQUIRE"] === "all") throw new Error(`This test ${problem}.`);
    context.skip(problem);
  });
  return path;
}

interface ShellOptions extends Partial<ShellToolsOptions> {
  readonly rules?: readonly PolicyRule[];
  readonly inMode?: Mode;
}

/** The shell tools in a workspace of their own. */
export class AShell {
  readonly root = aFolder();
  readonly shell: ShellTools;

  constructor({ rules = [], inMode = "ask", ...options }: ShellOptions = {}) {
    this.shell = createShellTools({
      policy: new Policy({ rules }, [this.root]),
      mode: () => inMode,
      roots: [this.root],
      sandbox: undefined,
      ...options,
    });
    onTestFinished(() => this.shell.close());
  }

  /** Runs a tool as an approved call: the output as it came, and the result. */
  async call(name: string, input: object, context: Partial<ToolContext> = {}): Promise<Called> {
    const tool = this.shell.tools.find((one) => one.name === name)!;
    const returned = tool.run(input, { ...aContext(), ...context });
    if (!isStream(returned)) return { pieces: [], result: (await returned) as Result };
    const pieces: string[] = [];
    for (;;) {
      const { done, value } = await returned.next();
      if (done === true) return { pieces, result: value as Result };
      pieces.push(value as string);
    }
  }

  run(command: string, more: object = {}, context: Partial<ToolContext> = {}): Promise<Called> {
    return this.call("run_shell", { command, ...more }, context);
  }
}

interface Called {
  readonly pieces: readonly string[];
  readonly result: Result;
}

type Result = Readonly<Record<string, unknown>> & {
  readonly output: string;
  readonly processId: string;
};

function isStream(value: unknown): value is AsyncGenerator<unknown, unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

function aContext(): ToolContext {
  return {
    taskId: "t",
    contextId: "c",
    toolCallId: randomUUID(),
    key: "k",
    signal: new AbortController().signal,
    stopped: new AbortController().signal,
    caller: { owner: "ann" } as ToolContext["caller"],
    trace: { traceId: "0", traceparent: "0" },
    answers: new Map(),
    credentials: new Map(),
  };
}
