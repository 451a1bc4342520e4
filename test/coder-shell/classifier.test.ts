import { expect, onTestFinished, test } from "vitest";
import { parseCommand } from "../../packages/coder/src/command-line/parse-command.ts";
import { randomFrom } from "../harness/random.ts";
import { needs } from "../needs.ts";
import { ShellLines } from "./shell-lines.ts";
import { TracedShell } from "./traced-shell.ts";

// The short form; `npm run test:shell` runs the full size.
const RUNS = Number(process.env["CONVOKE_SHELL_RUNS"] ?? 80);
const SEED = Number(process.env["CONVOKE_SHELL_SEED"] ?? Date.now() % 1_000_000);

const strace = needs("strace");

test(
  `a line starts only programs and writes only files that were found in it, seed ${SEED}`,
  async () => {
    const shell = await TracedShell.open(strace());
    onTestFinished(() => shell.close());
    const lines = new ShellLines(randomFrom(SEED));
    const faults: unknown[] = [];
    let started = 0;
    let certain = 0;

    await Promise.all(
      Array.from({ length: 3 }, async () => {
        while (certain < RUNS) {
          const line = lines.next();
          const { commands, writes, unknowns } = await parseCommand(line);
          // An unknown makes the verdict "ask", whatever the line does.
          if (unknowns.length > 0) continue;
          certain += 1;
          const trace = await shell.run(line);
          started += trace.started.length;
          const hidden = trace.started.filter((argv) => !commands.some((one) => fits(one, argv)));
          const unnamed = trace.written.filter((file) => !writes.includes(file));
          if (hidden.length + unnamed.length > 0) faults.push({ line, commands, hidden, unnamed });
        }
      }),
    );

    expect(faults).toEqual([]);
    expect(started).toBeGreaterThan(RUNS / 4);
  },
  60_000 + 500 * RUNS,
);

/** Whether a command is this list of words; an unknown word stands for any number of them. */
function fits(command: readonly (string | undefined)[], words: readonly string[]): boolean {
  const [first, ...rest] = command;
  if (command.length === 0) return words.length === 0;
  if (first !== undefined) return words[0] === first && fits(rest, words.slice(1));
  return [...words, ""].some((_, at) => fits(rest, words.slice(at)));
}
