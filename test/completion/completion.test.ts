import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { COMMANDS } from "../../apps/convoke/src/cli/commands.ts";
import { runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { succeed } from "../harness/program.ts";
import { needs } from "../needs.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";

/** What is typed before Tab, and what some of the offered words are. */
const OFFERED: readonly (readonly [typed: string, words: readonly string[]])[] = [
  ["convoke ", [...COMMANDS.keys(), "help"]],
  ["convoke se", ["serve", "send"]],
  ["convoke help se", ["serve", "send"]],
  ["convoke keys ", ["card", "create", "list", "revoke", "rotate"]],
  ["convoke keys card --a", ["--alg"]],
  ["convoke keys card --alg ", ["ES256", "ES384", "EdDSA"]],
  ["convoke init demo --template p", ["plain", "planner"]],
  ["convoke tasks http --state wor", ["working"]],
  ["convoke serve --p", ["--port", "--process"]],
];

/** Files are offered here, and no command. */
const FILES = ["convoke serve ", "convoke serve --config ", "convoke keys card --out "];

/** Saves the script of a shell in a folder with one other file. */
async function saveScript(shell: string): Promise<{ readonly cwd: string; readonly file: string }> {
  const { code, stdout } = await runCli(["completion", shell]);
  expect(code).toBe(0);
  const cwd = temporaryFolder();
  const file = join(cwd, ".script");
  writeFileSync(file, stdout);
  writeFileSync(join(cwd, "agent.ts"), "");
  return { cwd, file };
}

describe("in bash", () => {
  test("commands, subcommands, flags and values are completed, and files otherwise", async () => {
    const { cwd, file } = await saveScript("bash");
    const lines = [...OFFERED.map(([typed]) => typed), ...FILES, "convoke tasks --state = wor"];

    const script = `source ${file}
      complete -p convoke
      ${lines.map(completeInBash).join("\n")}`;
    const [registered, ...answers] = linesOf(await succeed("bash", ["-c", script], { cwd }));

    expect(registered).toBe("complete -o default -F _convoke convoke");
    const wanted = [...OFFERED.map(([, words]) => words), ...FILES.map(() => []), ["working"]];
    expect(answers.map(wordsIn)).toEqual(wanted.map((words) => words.toSorted()));
  });
});

/** Calls the function as bash does when Tab is pressed, and prints the words that it offers. */
function completeInBash(typed: string): string {
  const words = typed.split(" ").map((word) => `'${word}'`);
  return `COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}; _convoke; echo "\${COMPREPLY[@]}"`;
}

describe("in fish", () => {
  const fish = needs("fish");

  test("commands, subcommands, flags and values are completed, and files otherwise", async () => {
    const { cwd, file } = await saveScript("fish");
    const lines = [...OFFERED.map(([typed]) => typed), ...FILES];

    const script = `source ${file}
      ${lines.map((typed) => `string join -- " " (complete -C '${typed}' | string split -f 1 \\t)`).join("; echo\n")}; echo`;
    const answers = (await succeed(fish(), ["--no-config", "-c", script], { cwd }))
      .split("\n\n")
      .map(wordsIn);

    for (const [place, [typed, words]] of OFFERED.entries()) {
      expect(answers[place], typed).toEqual(words.toSorted());
    }
    for (const answer of answers.slice(OFFERED.length, lines.length)) {
      expect(answer).toContain("agent.ts");
    }
  });
});

describe("in zsh", () => {
  const zsh = needs("zsh");

  test("commands, subcommands, flags and values are completed, and files otherwise", async () => {
    const { cwd, file } = await saveScript("zsh");
    const lines = [...OFFERED.map(([typed]) => typed), ...FILES];

    // Completion works only in the line editor; what it would offer is printed instead.
    const script = `compdef() { print -r -- "registered $*" }
      source ${file}
      offer() { local array="\${@[-1]}" one; for one in "\${(@P)array}"; do shown+=("\${one%%:*}"); done }
      _describe() { offer "$@" }
      _files() { shown+=(agent.ts) }
      compadd() { shift; shown+=("$@") }
      ${lines.map(completeInZsh).join("\n")}`;
    const [registered, ...answers] = linesOf(await succeed(zsh(), ["-f", "-c", script], { cwd }));

    expect(registered).toBe("registered _convoke convoke");
    for (const [place, [typed, words]] of OFFERED.entries()) {
      const prefix = typed.split(" ").at(-1) ?? "";
      const offered = wordsIn(answers[place] ?? "").filter((word) => word.startsWith(prefix));
      expect(offered, typed).toEqual(words.toSorted());
    }
    expect(answers.slice(OFFERED.length)).toEqual(FILES.map(() => "agent.ts"));
  });
});

function completeInZsh(typed: string): string {
  const words = typed.split(" ");
  const quoted = words.map((word) => `'${word}'`).join(" ");
  return `shown=(); words=(${quoted}); CURRENT=${words.length}; PREFIX='${words.at(-1)}'; _convoke; print -r -- "$shown"`;
}

function linesOf(stdout: string): readonly string[] {
  return stdout.split("\n").slice(0, -1);
}

function wordsIn(line: string): readonly string[] {
  return line
    .split(/\s+/)
    .filter((word) => word !== "")
    .toSorted();
}
