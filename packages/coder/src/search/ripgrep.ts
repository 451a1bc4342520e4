import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type LineQuery, lineExpression } from "./line-search.ts";

/**
 * The path of ripgrep: from the variable `CONVOKE_RG`, otherwise on PATH; undefined if there is
 * none. An empty `CONVOKE_RG` turns it off.
 */
export function findRipgrep(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const given = env["CONVOKE_RG"];
  if (given !== undefined) return given === "" ? undefined : given;
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, "rg")).find(isProgram);
}

export interface RipgrepSearch {
  readonly query: LineQuery;
  readonly glob?: string | undefined;
  readonly maxFileBytes: number;
  /** The folder to search, relative to `cwd`; empty for all of it. */
  readonly start: string;
  readonly cwd: string;
}

/**
 * Lists the files in which ripgrep finds the pattern, in batches, until the signal fires. They are
 * only candidates: it does not know the jail. Returns undefined if the pattern means something else
 * to ripgrep or nothing, such as look-around.
 */
export async function findCandidates(
  program: string,
  search: RipgrepSearch,
  signal: AbortSignal,
): Promise<AsyncIterable<readonly string[]> | undefined> {
  const pattern = ripgrepPattern(search.query);
  if (pattern === undefined) return undefined;
  const args = patternArguments(search.query, pattern);
  const probe = spawn(program, [...args, "-"], { stdio: "ignore" });
  const code = await exitOf(probe).catch((cause: unknown) => {
    throw new Error(`${program} cannot be started; is CONVOKE_RG the path of ripgrep?`, { cause });
  });
  // 0 and 1: something or nothing was found. Everything else is an error.
  return code === 0 || code === 1 ? candidates(program, { ...search, args }, signal) : undefined;
}

async function* candidates(
  program: string,
  search: RipgrepSearch & { readonly args: readonly string[] },
  signal: AbortSignal,
): AsyncGenerator<readonly string[]> {
  const { cwd, start } = search;
  const args = [...searchArguments(search), ...search.args, "--", `./${start}`];
  const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "ignore"] });
  const exit = exitOf(child);
  // Awaited below; until then a failed start must not count as unhandled.
  exit.catch(() => undefined);
  const stop = (): void => void child.kill("SIGKILL");
  signal.addEventListener("abort", stop, { once: true });
  let rest = "";
  try {
    if (signal.aborted) stop();
    for await (const chunk of child.stdout.setEncoding("utf8") as AsyncIterable<string>) {
      const paths = (rest + chunk).split("\0");
      rest = paths.pop()!;
      if (paths.length > 0) yield paths.map((path) => path.replace(/^\.\//, ""));
    }
    // The exit code says nothing here: files that cannot be read are an error to ripgrep.
    await exit;
  } finally {
    stop();
    signal.removeEventListener("abort", stop);
  }
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  const [code] = (await once(child, "close")) as [number | null];
  return code;
}

function searchArguments({ glob, maxFileBytes }: RipgrepSearch): readonly string[] {
  const isForNames = glob !== undefined && !/[/{}!#]/.test(glob);
  return [
    "--files-with-matches",
    "--null",
    "--hidden",
    "--no-messages",
    // Only the ignore files of the workspace count, with or without a repository.
    "--no-require-git",
    "--no-ignore-parent",
    "--no-ignore-global",
    "--no-ignore-exclude",
    "--glob=!.git",
    `--max-filesize=${maxFileBytes}`,
    // `--glob` with the pattern would include ignored files; a type does not.
    ...(isForNames ? [`--type-add=wanted:${glob}`, "--type=wanted"] : []),
  ];
}

function patternArguments(query: LineQuery, pattern: string): readonly string[] {
  return [
    "--no-config",
    "--crlf",
    query.ignoreCase ? "--ignore-case" : "--case-sensitive",
    ...(query.isLiteral ? ["--fixed-strings"] : []),
    `--regexp=${pattern}`,
  ];
}

/** JavaScript's classes are ASCII, ripgrep's are Unicode. */
const ASCII: Readonly<Record<string, string>> = {
  "\\d": "[0-9]",
  "\\D": "[^0-9]",
  "\\w": "[0-9A-Za-z_]",
  "\\W": "[^0-9A-Za-z_]",
  "\\b": String.raw`(?-u:\b)`,
  "\\B": String.raw`(?-u:\B)`,
  "\\/": "/",
};

/** The pieces of a pattern that mean the same to both: classes, escapes, groups, and the rest. */
const PIECES =
  /\[\^?(?:[^\]\\[&~-]|[^\]\\[&~-]-[^\]\\[&~-]|\\[\]\\^.*+?()[{}|$tnrs-])+\]|\\[\^$.*+?()[\]{}|/tnrsSdDwWbB]|\((?:\?:|(?!\?))|[^\\[(]/gu;

/**
 * The pattern in ripgrep's syntax; undefined if it has something that could mean another thing
 * there. The search in a worker thread takes every pattern.
 */
export function ripgrepPattern(query: LineQuery): string | undefined {
  const { pattern, isLiteral } = query;
  if (isLiteral) return pattern;
  if (!lineExpression(query).unicode) return undefined;
  const pieces = pattern.match(PIECES) ?? [];
  if (pieces.join("") !== pattern) return undefined;
  return pieces.map((piece) => ASCII[piece] ?? piece).join("");
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
