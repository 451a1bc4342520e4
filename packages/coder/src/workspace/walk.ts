import {
  type Dirent,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  realpathSync,
} from "node:fs";
import { isTemporaryName } from "./files.ts";
import { HAS_PROC } from "./folder.ts";
import { IGNORE_FILES, type IgnoreFile, IgnoreRules } from "./ignore-rules.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** An ignore file of more bytes is left out. */
const MAX_IGNORE_FILE = 1024 * 1024;

/** A file or a link that a walk has found. */
export interface WalkedEntry {
  /** Relative to the base of the walk, with `/`. */
  readonly path: string;
  readonly type: "file" | "link" | "folder";
  /** The path that addresses it; valid until the walk goes on. Do not follow it if it is a link. */
  readonly at: string;
}

/** What a walk leaves out: `ignored` stands for `.git` and what ignore files exclude. */
export type LeaveOut = "ignored" | ".git" | "nothing";

export interface WalkOptions {
  readonly leaveOut: LeaveOut;
  /**
   * The folder to walk, relative to `base`; the ignore files above it count too. It is walked even
   * if it is ignored itself. By default all of `base`.
   */
  readonly start?: string;
}

/**
 * Walks a folder depth first, in the order of names, and never follows links. Every folder is opened
 * inside the one above it, so that it cannot be exchanged for a link to elsewhere. It blocks: run it
 * in a worker thread.
 *
 * @param base the path that addresses the opened folder; see `Folder`
 */
export function* walk(base: string, options: WalkOptions): Generator<WalkedEntry> {
  const { leaveOut, start = "" } = options;
  const rules = leaveOut === "ignored" ? IgnoreRules.none : undefined;
  const top = { base, path: "", rules, leaveOut };
  const names = start === "" ? [] : start.split("/");
  yield* walkTo(top, names);
}

interface OpenFolder {
  /** The path that addresses it. */
  readonly base: string;
  /** Relative to the base of the walk; empty for the base itself. */
  readonly path: string;
  /** The rules of the folders above it; undefined if all files count. */
  readonly rules: IgnoreRules | undefined;
  readonly leaveOut: LeaveOut;
}

/** Goes down to the folder to start at, and walks it. */
function* walkTo(folder: OpenFolder, names: readonly string[]): Generator<WalkedEntry> {
  const [name, ...rest] = names;
  if (name === undefined) return yield* walkFolder(folder);
  const { base, path, rules, leaveOut } = folder;
  const opened = openFolderSync(`${base}/${name}`);
  if (opened === undefined) return undefined;
  try {
    const inner = {
      base: opened.base,
      path: join(path, name),
      rules: rules && rulesIn(rules, folder),
      leaveOut,
    };
    yield* walkTo(inner, rest);
  } finally {
    closeSync(opened.fd);
  }
  return undefined;
}

function* walkFolder({ base, path, rules: above, leaveOut }: OpenFolder): Generator<WalkedEntry> {
  const entries = readEntries(base);
  const names = new Set(entries.map(({ name }) => name));
  const rules = above && rulesIn(above, { base, path }, (name) => names.has(name));
  for (const entry of entries) {
    const { name } = entry;
    const type = typeOf(entry);
    if (type === undefined || (leaveOut !== "nothing" && isLeftOut(name))) continue;
    const inner = join(path, name);
    if (rules?.ignores(inner, type === "folder") === true) continue;
    const at = `${base}/${name}`;
    yield { path: inner, type, at };
    if (type === "folder") yield* walkOpened(at, { path: inner, rules, leaveOut });
  }
}

function* walkOpened(at: string, inner: Omit<OpenFolder, "base">): Generator<WalkedEntry> {
  const opened = openFolderSync(at);
  if (opened === undefined) return;
  try {
    yield* walkFolder({ ...inner, base: opened.base });
  } finally {
    closeSync(opened.fd);
  }
}

/** Goes to one file, even if it is ignored. Yields nothing if a folder above it is gone or a link. */
export function* walkToFile(base: string, path: string): Generator<WalkedEntry> {
  for (const { inner, at } of descend(base, path)) {
    if (inner === path && at !== undefined) yield { path, type: "file", at };
  }
}

/** Whether a walk leaves out a path, which need not exist. */
export function isIgnored(base: string, path: string): boolean {
  return [...descend(base, path)].some(({ isHidden }) => isHidden);
}

interface Step {
  /** The path of a folder above the file, or of the file. */
  readonly inner: string;
  /** The path that addresses it; undefined if a folder above it is missing. */
  readonly at: string | undefined;
  /** A walk leaves it out. */
  readonly isHidden: boolean;
}

/** Goes down to a file, one folder at a time. */
function* descend(base: string, path: string): Generator<Step> {
  const opened: number[] = [];
  let folder: { base: string; path: string } | undefined = { base, path: "" };
  let inner = "";
  let rules = IgnoreRules.none;
  try {
    for (const name of path.split("/")) {
      if (folder !== undefined) rules = rulesIn(rules, folder);
      inner = join(inner, name);
      const at: string | undefined = folder && `${folder.base}/${name}`;
      const isHidden = isLeftOut(name) || rules.ignores(inner, inner !== path);
      yield { inner, at, isHidden };
      const next: OpenedFolder | undefined =
        at === undefined || inner === path ? undefined : openFolderSync(at);
      if (next !== undefined) opened.push(next.fd);
      folder = next && { base: next.base, path: inner };
    }
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}

function isLeftOut(name: string): boolean {
  return name === ".git" || isTemporaryName(name);
}

function join(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

interface OpenedFolder {
  readonly fd: number;
  /** The path that addresses it. */
  readonly base: string;
}

/** Opens a folder that is not a link; undefined if it is gone or cannot be read. */
function openFolderSync(at: string): OpenedFolder | undefined {
  let fd: number;
  try {
    fd = openSync(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch {
    return undefined;
  }
  if (HAS_PROC) return { fd, base: `/proc/self/fd/${fd}` };
  if (realpathSync(at) === at) return { fd, base: at };
  closeSync(fd);
  return undefined;
}

/** Most files fit into it, and are read with one call. */
const scratch = Buffer.alloc(64 * 1024);

/**
 * Reads a regular file that is not a link; undefined if it is gone, larger than the limit, or
 * something else. The bytes are valid until the next call.
 */
export function readFileSyncAt(at: string, maxBytes: number): Buffer | undefined {
  let fd: number;
  try {
    fd = openSync(at, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const length = readSync(fd, scratch, 0, scratch.length, 0);
    if (length < scratch.length) return length > maxBytes ? undefined : scratch.subarray(0, length);
    const stats = fstatSync(fd);
    return stats.isFile() && stats.size <= maxBytes ? readFileSync(fd) : undefined;
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}

function readEntries(base: string): readonly Dirent[] {
  try {
    const entries = readdirSync(base, { withFileTypes: true });
    return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}

function typeOf(entry: Dirent): WalkedEntry["type"] | undefined {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "folder";
  return entry.isSymbolicLink() ? "link" : undefined;
}

/** The rules inside a folder. Without `has`, each of its ignore files is looked for. */
function rulesIn(
  above: IgnoreRules,
  { base, path }: { readonly base: string; readonly path: string },
  has: (name: string) => boolean = (name) => existsSync(`${base}/${name}`),
): IgnoreRules {
  const texts: Partial<Record<IgnoreFile, string>> = {};
  for (const name of IGNORE_FILES) {
    if (!has(name)) continue;
    const bytes = readFileSyncAt(`${base}/${name}`, MAX_IGNORE_FILE);
    if (bytes !== undefined) texts[name] = bytes.toString();
  }
  const isRepository = has(".git");
  if (!isRepository && Object.keys(texts).length === 0) return above;
  return above.inFolder(path, { texts, isRepository });
}
