import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { COMMANDS } from "../../apps/convoke/src/cli/commands.ts";
import { completionLines } from "../../apps/convoke/src/cli/completion.ts";
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

/** The program on the PATH: that of the sources, or one that does not know what the script asks. */
const PROGRAMS = {
  ours: `exec ${process.execPath} ${fileURLToPath(new URL("../../apps/convoke/bin/convoke.js", import.meta.url))} "$@"`,
  another: `echo 'Unknown command "__complete".' >&2; exit 2`,
};

/** A folder with one visible file, the script of a shell and an environment with `convoke`. */
async function install(shell: string, program: keyof typeof PROGRAMS = "ours") {
  const { code, stdout } = await runCli(["completion", shell]);
  expect(code).toBe(0);
  expect(stdout.split("\n").filter((line) => !line.startsWith("#")).length).toBeLessThan(8);
  const bin = temporaryFolder();
  writeFileSync(join(bin, "convoke"), `#!/bin/sh\n${PROGRAMS[program]}\n`, { mode: 0o755 });
  const cwd = temporaryFolder();
  const file = join(bin, "script");
  writeFileSync(file, stdout);
  writeFileSync(join(cwd, "agent.ts"), "");
  return { cwd, file, env: { PATH: `${bin}:${process.env["PATH"]}` } };
}

test("only the command that was typed is loaded, because a person waits", async () => {
  const loaded: string[] = [];
  const table = new Map(
    [...COMMANDS].map(([name, load]) => [name, () => (loaded.push(name), load())] as const),
  );

  await completionLines([""], table);
  expect(loaded).toEqual([]);
  expect(await completionLines(["tasks", "--wa"], table)).toContain("--watch\tFollow a task");
  expect(loaded).toEqual(["tasks"]);
});

describe("in bash", () => {
  async function offered(lines: readonly string[], program?: keyof typeof PROGRAMS) {
    const { file, ...place } = await install("bash", program);
    const script = `source ${file}\ncomplete -p convoke\n${lines.map(completeInBash).join("\n")}`;
    return linesOf(await succeed("bash", ["-c", script], place));
  }

  test("commands, subcommands, flags and values are completed, and files otherwise", async () => {
    const lines = [...OFFERED.map(([typed]) => typed), ...FILES, "convoke tasks --state = wor"];

    const [registered, ...answers] = await offered(lines);

    // With "default", bash completes files where the function offers nothing.
    expect(registered).toBe("complete -o default -F _convoke convoke");
    const wanted = [...OFFERED.map(([, words]) => words), ...FILES.map(() => []), ["working"]];
    expect(answers.map(wordsIn)).toEqual(wanted.map((words) => words.toSorted()));
  });

  test("a convoke that cannot be asked is no error", async () => {
    expect((await offered(["convoke se"], "another")).slice(1)).toEqual([""]);
  });
});

/** Calls the function as bash does when Tab is pressed, and prints the words that it offers. */
function completeInBash(typed: string): string {
  const words = typed.split(" ").map((word) => `'${word}'`);
  return `COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}; _convoke; echo "\${COMPREPLY[@]}"`;
}

describe("in fish", () => {
  const fish = needs("fish");

  async function offered(lines: readonly string[], program?: keyof typeof PROGRAMS) {
    const { file, ...place } = await install("fish", program);
    const complete = (typed: string): string =>
      `string join -- " " (complete -C '${typed}' | string split -f 1 \\t); echo`;
    const script = `source ${file}\n${lines.map(complete).join("\n")}`;
    const stdout = await succeed(fish(), ["--no-config", "-c", script], place);
    return stdout.split("\n\n").slice(0, -1).map(wordsIn);
  }

  test("commands, subcommands, flags and values are completed, and files otherwise", async () => {
    const answers = await offered([...OFFERED.map(([typed]) => typed), ...FILES]);

    const wanted = [
      ...OFFERED.map(([, words]) => words.toSorted()),
      ...FILES.map(() => ["agent.ts"]),
    ];
    expect(answers).toEqual(wanted);
  });

  test("a convoke that cannot be asked is no error", async () => {
    expect(await offered(["convoke ag"], "another")).toEqual([["agent.ts"]]);
  });
});

describe("in zsh", () => {
  const zsh = needs("zsh");

  async function offered(lines: readonly string[], program?: keyof typeof PROGRAMS) {
    const { file, ...place } = await install("zsh", program);
    const setup = join(place.cwd, ".setup");
    writeFileSync(setup, IN_THE_EDITOR.replace("SCRIPT", file));
    const complete = (typed: string): string =>
      `zpty -w -n z '${typed}'$'\\t'; zpty -r z out '*OFFERED *END*'; print -r -- "\${\${out##*OFFERED }%%END*}"`;
    const script = `zmodload zsh/zpty; zpty z zsh -f -i; zpty -w z 'source ${setup}'
      zpty -r z out '*READY*'
      ${lines.map(complete).join("\n")}`;
    return linesOf(await succeed(zsh(), ["-f", "-c", script], place)).map(wordsIn);
  }

  test("commands, subcommands, flags and values are completed, and files otherwise", async () => {
    const answers = await offered([...OFFERED.map(([typed]) => typed), ...FILES]);

    const wanted = [
      ...OFFERED.map(([, words]) => words.toSorted()),
      ...FILES.map(() => ["agent.ts"]),
    ];
    expect(answers).toEqual(wanted);
  });

  test("a convoke that cannot be asked is no error", async () => {
    expect(await offered(["convoke ag"], "another")).toEqual([["agent.ts"]]);
  });
});

/** Completion works only in the line editor. Tab prints what would be offered, and clears the line. */
const IN_THE_EDITOR = `
autoload -Uz compinit && compinit -D -u
source SCRIPT
compadd() {
  if [[ " $* " != *" -"[AOD]" "* ]]; then
    local -a found
    builtin compadd -O found "$@"
    shown+=($found)
  fi
  builtin compadd "$@"
}
offer() {
  shown=()
  zle complete-word
  BUFFER=""
  print -r -- "OFFERED \${(ou)shown} END"
}
zle -N offer
bindkey '^I' offer
print REA""DY
`;

function linesOf(stdout: string): readonly string[] {
  return stdout.split("\n").slice(0, -1);
}

function wordsIn(line: string): readonly string[] {
  return line
    .split(/\s+/)
    .filter((word) => word !== "")
    .toSorted();
}
