import type { Word } from "./word.ts";

/** A command: its program and its arguments. */
export type Argv = readonly Word[];

/** What a command runs in addition to its own program. */
export interface Unwrapped {
  readonly inner: readonly Argv[];
  /** Shell lines that it runs. */
  readonly lines: readonly string[];
  /** Why this is not certain. */
  readonly unknown?: string;
}

const NOTHING: Unwrapped = { inner: [], lines: [] };

/** Finds the commands that a command starts, such as `rm` in `sudo rm x`. */
export function unwrap(argv: Argv): Unwrapped {
  const [program, ...rest] = argv;
  if (program === undefined) return unknown("the name of a command is only known when it runs");
  if (program === "" || program.includes("=")) return unknown("a command has no plain name");
  const name = program.slice(program.lastIndexOf("/") + 1);
  if (UNKNOWN_WORDS.has(name)) return unknown(`what ${name} does to the shell`);
  if (LAUNCHERS.has(name)) return unknown(`what ${name} starts`);
  if (SHELLS.has(name)) return unwrapShell(name, rest);
  if (name === "find") return unwrapFind(rest);
  if (name === "printf" && rest[0] !== undefined && !rest[0].startsWith("-")) return NOTHING;
  if (name === "printf" || name === "test") {
    const isSafe = rest.every((word) => word !== undefined && !/^-[vR]|\[/.test(word));
    return isSafe ? NOTHING : unknown(`what ${name} does with its arguments`);
  }
  const wrapper = WRAPPERS.get(name);
  return wrapper === undefined ? NOTHING : unwrapWrapper(name, wrapper, rest);
}

function unknown(why: string): Unwrapped {
  return { ...NOTHING, unknown: why };
}

/** How to find the command in the arguments of a wrapper. */
interface Wrapper {
  /** Options that stand alone. */
  readonly flags?: RegExp;
  /** Options whose value is the next word. */
  readonly valued?: RegExp;
  /** How many arguments come before the command. */
  readonly operands?: number;
  /** It appends arguments of its own to the command. */
  readonly appends?: boolean;
}

/** An option that is not listed makes the command unknown. */
const WRAPPERS: ReadonlyMap<string, Wrapper> = new Map<string, Wrapper>([
  ["builtin", {}],
  ["command", { flags: /^-[pvV]$/ }],
  ["doas", { flags: /^-n$/, valued: /^-u$/ }],
  ["env", { flags: /^-i?$|^--ignore-environment$/, valued: /^-u$/ }],
  ["exec", { flags: /^-[cl]$/ }],
  ["nice", { flags: /^-n?-?\d+$|^--adjustment=-?\d+$/, valued: /^-n$/ }],
  ["nohup", {}],
  ["setsid", { flags: /^-[cfw]$|^--(?:ctty|fork|wait)$/ }],
  ["stdbuf", { flags: /^-[ioe].+$|^--(?:input|output|error)=.+$/, valued: /^-[ioe]$/ }],
  ["sudo", { flags: /^-[nEHSk]$/, valued: /^-[ug]$/ }],
  ["time", { flags: /^-p$/ }],
  [
    "timeout",
    {
      flags: /^-[ks].+$|^-v$|^--(?:foreground|preserve-status|verbose)$|^--(?:signal|kill-after)=/,
      valued: /^-[ks]$/,
      operands: 1,
    },
  ],
  [
    "xargs",
    {
      flags: /^-[0rtx]$|^-[nPLds].+$|^--(?:null|no-run-if-empty|verbose|max-args=.*|max-procs=.*)$/,
      valued: /^-[nPLds]$/,
      appends: true,
    },
  ],
]);

function unwrapWrapper(name: string, wrapper: Wrapper, words: Argv): Unwrapped {
  const { operands = 0, appends = false } = wrapper;
  const options = optionCount(wrapper, words);
  const start = options === undefined ? undefined : options + operands;
  if (start === undefined || words.slice(0, start).includes(undefined)) {
    return unknown(`what ${name} starts`);
  }
  const inner = words.slice(start);
  if (inner.length > 0) return { ...NOTHING, inner: [appends ? [...inner, undefined] : inner] };
  // Without a command, xargs prints its input.
  return appends ? { ...NOTHING, inner: [["echo", undefined]] } : NOTHING;
}

/** How many words are options and their values; undefined if one of them is not known. */
function optionCount({ flags, valued }: Wrapper, words: Argv): number | undefined {
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at];
    if (word === "--") return at + 1;
    if (word === undefined) return undefined;
    if (!word.startsWith("-")) return at;
    if (valued?.test(word) === true) at += 1;
    else if (flags?.test(word) !== true) return undefined;
  }
  return words.length;
}

/** A shell runs the line after `-c`, or a script, or its input. */
function unwrapShell(name: string, words: Argv): Unwrapped {
  const at = words.findIndex((word) => word === undefined || !/^-[a-z-]|^\+/.test(word));
  const options = at === -1 ? words : words.slice(0, at);
  const isLine = options.some((word) => /^-[a-z]*c[a-z]*$/.test(word ?? ""));
  if (options.some((word) => !/^-[ceux]+$/.test(word ?? ""))) {
    return unknown(`what the options of ${name} do`);
  }
  const operand = at === -1 ? undefined : words[at];
  if (operand === undefined) return unknown(`what ${name} runs`);
  if (!isLine) return NOTHING;
  if (!LIKE_BASH.has(name)) return unknown(`what ${name} runs`);
  return { ...NOTHING, lines: [operand] };
}

function unwrapFind(words: Argv): Unwrapped {
  if (words.includes(undefined)) return unknown("what find does with its arguments");
  const inner: Argv[] = [];
  for (let at = 0; at < words.length; at += 1) {
    if (!/^-(?:exec|ok)(?:dir)?$/.test(words[at]!)) continue;
    const end = words.findIndex(
      (word, index) => index > at && (word === ";" || (word === "+" && words[index - 1] === "{}")),
    );
    if (end === -1) return unknown("what find starts");
    const command = words.slice(at + 1, end);
    inner.push(command.map((word) => (word!.includes("{}") ? undefined : word)));
    at = end;
  }
  return { ...NOTHING, inner };
}

const SHELLS: ReadonlySet<string> = new Set(
  "sh bash dash ash ksh mksh zsh fish csh tcsh rbash".split(" "),
);

/** Shells whose lines the parser reads as they do. */
const LIKE_BASH: ReadonlySet<string> = new Set(["sh", "bash", "dash"]);

/**
 * Reserved words that the parser can take for a command, and builtins that change what later
 * commands mean, or that evaluate their arguments.
 */
const UNKNOWN_WORDS: ReadonlySet<string> = new Set(
  (
    "! { } [ [[ ]] case coproc do done elif else esac fi for function if in select then until while " +
    ". alias bg bind caller cd compgen complete compopt declare dirs disown enable eval export fc fg " +
    "getopts hash help history jobs let local logout mapfile popd pushd read readarray readonly set " +
    "shift shopt source suspend times trap type typeset ulimit umask unalias unset wait"
  ).split(" "),
);

/** Programs that start another one from their arguments, in ways that are not followed. */
const LAUNCHERS: ReadonlySet<string> = new Set(
  (
    "busybox chroot chrt dbus-run-session entr eatmydata fakeroot firejail flock gdb ionice ltrace " +
    "numactl nsenter parallel pkexec proot rlwrap runuser script screen setarch setpriv ssh " +
    "start-stop-daemon strace su systemd-run taskset tmux toybox unbuffer unshare valgrind watch xvfb-run"
  ).split(" "),
);
