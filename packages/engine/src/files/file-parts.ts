import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { A2APart, FileContent } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";

/** The fields in which tasks, messages, artifacts and events have others with parts. */
const NESTED = ["message", "status", "history", "artifact", "artifacts"] as const;

/** A task, message, artifact or event. */
interface Carrier extends Partial<Readonly<Record<(typeof NESTED)[number], unknown>>> {
  readonly parts?: unknown;
}

/** Calls `visit` with each file of a task, message, artifact or event. */
function visitFiles(value: Carrier, visit: (file: FileContent) => void): void {
  // Each field by its name, because a loop over names costs several times as much, for every event.
  const { parts, message, status, history, artifact, artifacts } = value;
  if (Array.isArray(parts)) {
    for (const part of parts as readonly A2APart[]) if (part.kind === "file") visit(part.file);
  }
  visitNested(message, visit);
  visitNested(status, visit);
  visitNested(history, visit);
  visitNested(artifact, visit);
  visitNested(artifacts, visit);
}

function visitNested(nested: unknown, visit: (file: FileContent) => void): void {
  if (Array.isArray(nested)) for (const one of nested) visitFiles(one as object, visit);
  else if (isObject(nested)) visitFiles(nested, visit);
}

/** Whether a task, message, artifact or event has a file for which the condition is true. */
export function hasFile(value: object, isMeant: (file: FileContent) => boolean): boolean {
  let found = false;
  visitFiles(value, (file) => (found ||= isMeant(file)));
  return found;
}

/**
 * Replaces files of a task, message, artifact or event. Files that `replace` returns `undefined` for
 * stay. They are replaced one after the other, because each may be large.
 */
export async function replaceFiles<Value extends object>(
  value: Value,
  replace: (file: FileContent) => Promise<FileContent | undefined>,
): Promise<Value> {
  const files = new Set<FileContent>();
  visitFiles(value, (file) => files.add(file));
  const replaced = new Map<FileContent, FileContent>();
  for (const file of files) {
    const other = await replace(file);
    if (other !== undefined) replaced.set(file, other);
  }
  return replaced.size === 0 ? value : withFiles(value, replaced);
}

function withFiles<Value extends object>(
  value: Value,
  replaced: ReadonlyMap<FileContent, FileContent>,
): Value {
  const copy = { ...value } as Record<string, unknown>;
  if (Array.isArray(copy["parts"])) {
    copy["parts"] = (copy["parts"] as readonly A2APart[]).map((part) => {
      const file = part.kind === "file" ? replaced.get(part.file) : undefined;
      return file === undefined ? part : { ...part, file };
    });
  }
  for (const name of NESTED) {
    const nested = copy[name];
    if (Array.isArray(nested)) {
      copy[name] = nested.map((one: object) => withFiles(one, replaced));
    } else if (isObject(nested)) copy[name] = withFiles(nested, replaced);
  }
  return copy as unknown as Value;
}

/** How many characters of base64 are decoded at a time. A multiple of four, so that no byte is split. */
const PIECE = 1024 * 1024;

/** Decodes base64 piece by piece, so that there is no second copy of a large file in memory. */
export function* decodeBase64(base64: string): Generator<Uint8Array, void, undefined> {
  for (const piece of piecesOf(base64)) yield Buffer.from(piece, "base64");
}

function* piecesOf(base64: string): Generator<string, void, undefined> {
  const text = /\s/.test(base64) ? base64.replaceAll(/\s+/g, "") : base64;
  for (let start = 0; start < text.length; start += PIECE) yield text.slice(start, start + PIECE);
}

/** The digest and the size of what base64 text stands for. */
export function describeBase64(base64: string): { readonly digest: string; readonly size: number } {
  const hash = createHash("sha256");
  const decoded = Buffer.allocUnsafe(Math.min(base64.length, PIECE));
  let size = 0;
  for (const piece of piecesOf(base64)) {
    const length = decoded.write(piece, "base64");
    hash.update(decoded.subarray(0, length));
    size += length;
  }
  return { digest: hash.digest("hex"), size };
}

/** Whether two parts are the same, also if the file of one of them is stored and that of the other has bytes. */
export function isSamePart(one: unknown, other: unknown): boolean {
  if (isDeepStrictEqual(one, other)) return true;
  const [left, right] = [fileOf(one), fileOf(other)];
  if (left === undefined || right === undefined) return false;
  const isKept = left.stored !== undefined || right.stored !== undefined;
  return isKept && isDeepStrictEqual(withDigest(one as A2APart), withDigest(other as A2APart));
}

/** The same for all parts of a list. */
export function areSameParts(one: readonly A2APart[], other: readonly A2APart[]): boolean {
  return one.length === other.length && one.every((part, place) => isSamePart(part, other[place]));
}

function fileOf(part: unknown): FileContent | undefined {
  const { kind, file } = isObject(part) ? part : {};
  return kind === "file" ? (file as FileContent) : undefined;
}

/** A part with the digest of its file instead of the content. */
function withDigest(part: A2APart): unknown {
  if (part.kind !== "file") return part;
  const { bytes, stored, ...rest } = part.file;
  const digest = bytes === undefined ? stored?.digest : describeBase64(bytes).digest;
  return { ...part, file: { ...rest, digest } };
}
