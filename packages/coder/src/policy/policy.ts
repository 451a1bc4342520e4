import { resolve } from "node:path";
import type { ParsedCommand } from "../command-line/parse-command.ts";
import type { Argv } from "../command-line/unwrap.ts";
import { matchesText, mentions, startsWith } from "./command-pattern.ts";
import { isInside, matchesPath, placesOf, realPlace } from "./path-glob.ts";
import type { CompletePolicy, PolicyRule } from "./policy-definition.ts";
import { isReadOnly } from "./safe-commands.ts";
import { type Mode, type Verdict, strictest } from "./verdict.ts";

/** What a tool is about to do. */
export interface Action {
  readonly tool: string;
  readonly kind: FileAction | "fetch" | "other";
  /** The absolute paths that it reads or changes. */
  readonly paths?: readonly string[];
}

type FileAction = "read" | "edit" | "move" | "delete";

/** A command that is about to run. */
export interface CommandAction {
  readonly tool: string;
  readonly command: ParsedCommand;
  /** The folder in which it runs. */
  readonly cwd: string;
  /** Whether it runs in a sandbox. */
  readonly isSandboxed: boolean;
}

export interface Decision {
  readonly verdict: Verdict;
  /** Why, for people; empty for `allow`. */
  readonly reasons: readonly string[];
}

/** The verdict of each mode where no rule says otherwise: plan, ask, auto-edit, full. */
const DEFAULTS = {
  read: ["allow", "allow", "allow", "allow"],
  readOutside: ["ask", "ask", "ask", "allow"],
  edit: ["deny", "ask", "allow", "allow"],
  move: ["deny", "ask", "allow", "allow"],
  delete: ["deny", "ask", "ask", "allow"],
  changeOutside: ["deny", "ask", "ask", "ask"],
  command: ["deny", "ask", "ask", "allow"],
  fetch: ["ask", "ask", "ask", "allow"],
  other: ["deny", "ask", "ask", "allow"],
} as const satisfies Readonly<Record<string, readonly [Verdict, Verdict, Verdict, Verdict]>>;

type Default = keyof typeof DEFAULTS;

const COLUMN: Readonly<Record<Mode, 0 | 1 | 2 | 3>> = { plan: 0, ask: 1, "auto-edit": 2, full: 3 };

/** Changing these can run code later, or change this policy: always ask. */
const PROTECTED = ["**/.git/**", "**/.convoke/**"];

/** Why a command is asked for where there is no sandbox. */
export const NO_SANDBOX = "there is no sandbox: the command has all rights of the server";

/** Where output may go without a trace. */
const NO_FILE = /^\/dev\/(?:null|stdout|stderr)$/;

/**
 * Decides what an agent may do in a workspace. A matching `deny` rule wins over `ask`, and `ask`
 * over `allow`; a matching `allow` replaces the default of the mode. The strictest verdict over all
 * paths and commands of a call counts.
 */
export class Policy {
  readonly #rules: readonly PolicyRule[];
  readonly #roots: readonly string[];

  /** `roots` are the folders of the workspace; rules are relative to the first. */
  constructor(policy: Pick<CompletePolicy, "rules">, roots: readonly [string, ...string[]]) {
    this.#rules = policy.rules;
    this.#roots = roots.map((root) => realPlace(root));
  }

  /** Decides on a call of a tool that is not a command. */
  decide({ tool, kind, paths = [] }: Action, mode: Mode): Decision {
    if (paths.length > 0) {
      return combined(paths.map((path) => this.#judgePath(tool, kind, path, mode)));
    }
    return this.#judge({ tool, paths, argv: undefined }, DEFAULTS[kind][COLUMN[mode]], mode);
  }

  /** Decides on a command line. */
  decideCommand(action: CommandAction, mode: Mode): Decision {
    const { tool, command, isSandboxed } = action;
    const { reads, writes, unknowns, startsIn } = command;
    const folders = [
      action.cwd,
      ...(startsIn === undefined ? [] : [resolve(action.cwd, startsIn)]),
    ];
    const places = (files: readonly string[]): readonly string[] =>
      files
        .filter((file) => !NO_FILE.test(file))
        .flatMap((file) => folders.flatMap((folder) => placesOf(file, folder)));
    return combined([
      ...command.commands.map((argv) => this.#judgeCommand(action, argv, folders, mode)),
      ...places(reads).map((path) => this.#judgePath(tool, "read", path, mode)),
      ...places(writes).map((path) => this.#judgePath(tool, "edit", path, mode)),
      ...unknowns.map((why) => ({
        verdict: strictest(["ask", DEFAULTS.command[COLUMN[mode]]]),
        reasons: [`not known before it runs: ${why}`],
      })),
      ...(isSandboxed ? [] : [ask(NO_SANDBOX)]),
    ]);
  }

  #judgeCommand(
    action: CommandAction,
    argv: Argv,
    folders: readonly string[],
    mode: Mode,
  ): Decision {
    const paths = pathsIn(argv, folders);
    const isReader = isReadOnly(argv);
    const outside = isReader ? paths.find((path) => !this.#isInside(path)) : undefined;
    const ofReader: Default = outside === undefined ? "read" : "readOutside";
    const base = isReader ? ofReader : "command";
    const why = outside === undefined ? [] : [`${outside} is outside the workspace`];
    const target = { tool: action.tool, paths, argv };
    return this.#judge(target, DEFAULTS[base][COLUMN[mode]], mode, why);
  }

  #judgePath(tool: string, kind: Action["kind"], path: string, mode: Mode): Decision {
    const isChange = kind === "edit" || kind === "move" || kind === "delete";
    const target = { tool, paths: [path, realPlace(path)], argv: undefined };
    if (isChange && PROTECTED.some((glob) => matchesPath(glob, realPlace(path), "/"))) {
      const { verdict } = this.#judge(target, DEFAULTS[kind][COLUMN[mode]], mode);
      return combined([{ verdict, reasons: [] }, ask(`${path} can change what runs later`)]);
    }
    if (this.#isInside(path)) return this.#judge(target, DEFAULTS[kind][COLUMN[mode]], mode);
    const base = isChange ? "changeOutside" : "readOutside";
    const why = [`${path} is outside the workspace`];
    return this.#judge(target, DEFAULTS[base][COLUMN[mode]], mode, why);
  }

  /** Applies the rules to one path or command. */
  #judge(target: Target, base: Verdict, mode: Mode, why: readonly string[] = []): Decision {
    const hits = this.#rules.flatMap((rule) => this.#apply(rule, target));
    const isAllowed = hits.some(({ verdict }) => verdict === "allow");
    // In plan mode a rule cannot allow what the mode denies.
    const isFixed = mode === "plan" && base === "deny";
    const own: Decision = {
      verdict: isAllowed && !isFixed ? "allow" : base,
      reasons: why.length > 0 ? why : [`mode ${mode}`],
    };
    return combined([own, ...hits]);
  }

  /** The verdict of a rule, if it matches; `ask` if a restriction may match. */
  #apply(rule: PolicyRule, target: Target): readonly Decision[] {
    if (rule.tool !== undefined && !matchesText(rule.tool, target.tool)) return [];
    const match =
      rule.verdict === "allow" ? this.#allows(rule, target) : this.#limits(rule, target);
    if (match === "no") return [];
    const reasons = [rule.reason ?? `a rule for ${rule.command ?? rule.path ?? rule.tool}`];
    return [{ verdict: match === "maybe" ? "ask" : rule.verdict, reasons }];
  }

  #allows({ command, path }: PolicyRule, { argv, paths }: Target): "yes" | "no" {
    if (command !== undefined)
      return argv !== undefined && startsWith(command, argv) ? "yes" : "no";
    if (path === undefined) return "yes";
    // A path does not say what a command does with it.
    const isMatch =
      argv === undefined && paths.length > 0 && paths.every((one) => this.#fits(path, one));
    return isMatch ? "yes" : "no";
  }

  #limits({ command, path }: PolicyRule, { argv, paths }: Target): "yes" | "maybe" | "no" {
    if (command !== undefined) return argv === undefined ? "no" : mentions(command, argv);
    if (path === undefined) return "yes";
    if (paths.some((one) => this.#fits(path, one))) return "yes";
    return argv?.includes(undefined) === true ? "maybe" : "no";
  }

  #fits(glob: string, path: string): boolean {
    return matchesPath(glob, path, this.#roots[0]!);
  }

  #isInside(path: string): boolean {
    return this.#roots.some((root) => isInside(path, root));
  }
}

/** One path, one command, or a call as a whole. */
interface Target {
  readonly tool: string;
  readonly paths: readonly string[];
  readonly argv: Argv | undefined;
}

function ask(why: string): Decision {
  return { verdict: "ask", reasons: [why] };
}

function combined(decisions: readonly Decision[]): Decision {
  const verdict = strictest(decisions.map((one) => one.verdict));
  if (verdict === "allow") return { verdict, reasons: [] };
  const reasons = decisions.filter((one) => one.verdict === verdict).flatMap((one) => one.reasons);
  return { verdict, reasons: [...new Set(reasons)] };
}

/**
 * Every path that an argument may name, whether or not it is one: `x` in `x`, `-x`, `-ox`, `--o=x`.
 */
function pathsIn([, ...words]: Argv, folders: readonly string[]): readonly string[] {
  const named = words.flatMap((word) => {
    if (word === undefined || word === "") return [];
    const value = word.includes("=") ? [word.slice(word.indexOf("=") + 1)] : [];
    const short = /^-[^-]/.test(word) ? [word.slice(2)] : [];
    return [...(word.startsWith("-") ? [] : [word]), ...value, ...short].filter(
      (one) => one !== "",
    );
  });
  return named.flatMap((one) => folders.flatMap((folder) => placesOf(one, folder)));
}
