import { type Argv, unwrap } from "../command-line/unwrap.ts";

/** Which options of a program do more than read. */
interface Reader {
  /** Letters of options in their short form. */
  readonly unsafe?: string;
  /** Long options, without `--`. Their abbreviations are unsafe too. */
  readonly unsafeLong?: readonly string[];
  /** How many arguments that are not options it takes; one more would be a file to write. */
  readonly maxOperands?: number;
}

const ANYTHING: Reader = {};

const PLAIN =
  ": base64 basename cat cksum cmp comm cut df dirname echo expand expr false " +
  "fold fmt head id jq ls md5sum nl od paste printenv printf pwd readlink realpath rev " +
  "seq sha1sum sha256sum sha512sum sleep stat sum tac tail test tr true tsort uname " +
  "unexpand which whoami";

/**
 * Programs that only read, unless one of these options is given. Options that follow links or read
 * a list of files could leave the workspace.
 */
const READERS: ReadonlyMap<string, Reader> = new Map([
  ...PLAIN.split(" ").map((name) => [name, ANYTHING] as const),
  ["cd", { maxOperands: 1 }],
  ["date", { unsafe: "s", unsafeLong: ["set"] }],
  ["diff", { unsafe: "r", unsafeLong: ["recursive"] }],
  ["du", { unsafe: "LD", unsafeLong: ["files0-from"] }],
  ["exit", { maxOperands: 1 }],
  ["file", { unsafe: "C", unsafeLong: ["compile"] }],
  ...["grep", "egrep", "fgrep"].map(
    (name) => [name, { unsafe: "R", unsafeLong: ["dereference-recursive"] }] as const,
  ),
  ["rg", { unsafe: "zL", unsafeLong: ["pre", "hostname-bin", "search-zip", "follow"] }],
  [
    "sort",
    {
      unsafe: "oT",
      unsafeLong: ["output", "compress-program", "temporary-directory", "files0-from"],
    },
  ],
  ["tree", { unsafe: "olR", unsafeLong: ["output"] }],
  ["uniq", { maxOperands: 1 }],
  ["wc", { unsafeLong: ["files0-from"] }],
]);

const BRANCH_CHANGES = [
  "delete",
  "move",
  "copy",
  "force",
  "set-upstream-to",
  "unset-upstream",
  "edit",
];

/** Commands of git that only read. */
const GIT_READERS: ReadonlyMap<string, Reader> = new Map([
  ...["log", "diff", "show", "shortlog", "rev-list", "blame", "diff-tree"].map(
    (name) => [name, { unsafeLong: ["output", "ext-diff", "textconv"] }] as const,
  ),
  ...["status", "rev-parse", "ls-files", "ls-tree", "merge-base", "describe", "name-rev"].map(
    (name) => [name, ANYTHING] as const,
  ),
  ["branch", { maxOperands: 0, unsafe: "dDmMcCfu", unsafeLong: BRANCH_CHANGES }],
  ["cat-file", { unsafeLong: ["textconv", "filters"] }],
  ["grep", { unsafe: "O", unsafeLong: ["open-files-in-pager", "ext-grep", "textconv"] }],
  ["remote", { maxOperands: 0 }],
]);

/** Programs that only start another one, which is judged by itself. */
const TRANSPARENT: ReadonlySet<string> = new Set(
  "bash builtin command dash env nice nohup sh stdbuf time timeout xargs".split(" "),
);

/** Expressions of find that run programs or change files. */
const FIND_CHANGES = /^-(?:exec|execdir|ok|okdir|delete|fprint0?|fprintf|fls|files0-from)$/;

/**
 * Whether a command only reads. It must be found by its name on the PATH, and all of its words must
 * be known.
 */
export function isReadOnly(argv: Argv): boolean {
  const [program, ...given] = argv;
  if (program === undefined) return false;
  if (TRANSPARENT.has(program)) return isTransparent(argv);
  if (given.includes(undefined)) return false;
  const words = given as readonly string[];
  if (program === "git") return isGitReader(words);
  if (program === "find") return !words.some((word) => FIND_CHANGES.test(word));
  const reader = READERS.get(program);
  return reader !== undefined && isHarmless(words, reader);
}

function isTransparent(argv: Argv): boolean {
  const { inner, lines, unknown } = unwrap(argv);
  return unknown === undefined && inner.length + lines.length > 0;
}

function isGitReader(words: readonly string[]): boolean {
  // Options before the command can set aliases, pagers and folders.
  const [command, ...rest] = words[0] === "--no-pager" ? words.slice(1) : words;
  const reader = GIT_READERS.get(command ?? "");
  return reader !== undefined && isHarmless(rest, reader);
}

function isHarmless(words: readonly string[], reader: Reader): boolean {
  const { unsafe = "", unsafeLong = [], maxOperands = Number.POSITIVE_INFINITY } = reader;
  const isUnsafe = (word: string): boolean => {
    if (!word.startsWith("-")) return false;
    if (!word.startsWith("--")) return Array.from(unsafe).some((letter) => word.includes(letter));
    const [name = ""] = word.slice(2).split("=");
    return name !== "" && unsafeLong.some((long) => long.startsWith(name) || name.startsWith(long));
  };
  const operands = words.filter((word) => !word.startsWith("-") || word === "-");
  return !words.some(isUnsafe) && operands.length <= maxOperands;
}
