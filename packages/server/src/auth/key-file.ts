import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { isObject } from "@convoke/protocol/internal";
import { type CallerFacts, sha256 } from "./authenticator.ts";

/** The name of the file with API keys in a data folder. */
export const KEY_FILE = "api-keys.json";

/** What is stored about an API key: everything except for the key. Times are in ISO 8601. */
export interface ApiKeyRecord extends CallerFacts {
  /** Part of the key, so that its record is found without comparing secrets. */
  readonly id: string;
  /** For people. A rotated key and the one that replaces it have the same name. */
  readonly name: string;
  /** SHA-256 of the whole key, in hexadecimal. */
  readonly hash: string;
  readonly createdAt: string;
  /** The key is not accepted from then on. Absent: it does not expire. */
  readonly expiresAt?: string;
  readonly revokedAt?: string;
}

/** A new key. Its text is shown once and stored nowhere. */
export interface CreatedApiKey {
  readonly key: string;
  readonly record: ApiKeyRecord;
}

export interface NewApiKey extends Partial<CallerFacts> {
  readonly name: string;
  readonly expiresAt?: Date;
}

/** API keys that cannot be used. The message is one sentence about their file or database. */
export class KeyFileError extends Error {
  override readonly name = "KeyFileError";
}

const KEY = /^cvk_([0-9a-f]{12})_[\w-]{43}$/;

/** The id in the text of a key; `undefined` if the text is no key. */
export function keyId(text: string): string | undefined {
  return KEY.exec(text)?.[1];
}

/**
 * Creates a key of 256 random bits. Nobody can guess one, so a fast hash protects it: slow hashes
 * are for passwords, of which there are few, and would cost every request tens of milliseconds.
 */
export function createApiKey({ name, expiresAt, ...facts }: NewApiKey): CreatedApiKey {
  const id = randomBytes(6).toString("hex");
  const key = `cvk_${id}_${randomBytes(32).toString("base64url")}`;
  return {
    key,
    record: {
      id,
      name,
      owner: name,
      ...facts,
      hash: sha256(key).toString("hex"),
      createdAt: new Date().toISOString(),
      ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
    },
  };
}

/** Whether a key is accepted at that time, and if not, why. */
export function keyState(
  { expiresAt, revokedAt }: ApiKeyRecord,
  now: number,
): "active" | "expired" | "revoked" {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && Date.parse(expiresAt) <= now ? "expired" : "active";
}

/**
 * Replaces the keys of a name: a new key with the same owner, tenant and scopes, and the active ones
 * stay valid for the grace period, so that clients can change over without an interruption.
 */
export function rotateApiKey(
  records: readonly ApiKeyRecord[],
  name: string,
  { graceMs, now = Date.now() }: { readonly graceMs: number; readonly now?: number },
): CreatedApiKey & { readonly records: readonly ApiKeyRecord[] } {
  const isOld = (record: ApiKeyRecord): boolean =>
    record.name === name && keyState(record, now) === "active";
  const last = records.findLast(isOld);
  if (last === undefined) throw new KeyFileError(`there is no active key with the name ${name}`);
  const end = now + graceMs;
  const { owner, tenant, scopes } = last;
  const created = createApiKey({
    name,
    owner,
    ...(tenant !== undefined && { tenant }),
    ...(scopes && { scopes }),
  });
  const ending = records.map((record) => {
    const ownEnd = Date.parse(record.expiresAt ?? "");
    const isSooner = Number.isNaN(ownEnd) || end < ownEnd;
    return isOld(record) && isSooner
      ? { ...record, expiresAt: new Date(end).toISOString() }
      : record;
  });
  return { ...created, records: [...ending, created.record] };
}

/** Reads a file of keys. `undefined` if there is none. */
export function readKeyFile(path: string): readonly ApiKeyRecord[] | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new KeyFileError(`${path} cannot be read`, { cause: error });
  }
  return parseKeys(text, path);
}

/** @param place where the text is stored, for errors */
export function parseKeys(text: string, place: string): readonly ApiKeyRecord[] {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw new KeyFileError(`${place} is not JSON`, { cause: error });
  }
  const keys = isObject(content) ? content["keys"] : undefined;
  if (!Array.isArray(keys)) {
    throw new KeyFileError(`${place} must be an object with a list of keys`);
  }
  keys.forEach((key, index) => checkRecord(key, `${place}: keys[${index}]`));
  return keys as readonly ApiKeyRecord[];
}

/** Rejects a record that would be accepted for longer, or for more, than was meant. */
export function checkRecord(value: unknown, field: string): asserts value is ApiKeyRecord {
  if (!isObject(value)) throw new KeyFileError(`${field} must be an object`);
  for (const name of ["id", "name", "hash", "owner", "createdAt"]) {
    const text = value[name];
    if (typeof text !== "string" || text === "") {
      throw new KeyFileError(`${field}.${name} must be a text that is not empty`);
    }
  }
  if (!/^[0-9a-f]{64}$/.test(value["hash"] as string)) {
    throw new KeyFileError(`${field}.hash must be a SHA-256 in hexadecimal`);
  }
  for (const name of ["expiresAt", "revokedAt"]) {
    const time = value[name];
    const isTime = typeof time === "string" && !Number.isNaN(Date.parse(time));
    if (time !== undefined && !isTime) throw new KeyFileError(`${field}.${name} must be a time`);
  }
  const { tenant, scopes = [] } = value;
  if (tenant !== undefined && (typeof tenant !== "string" || tenant === "")) {
    throw new KeyFileError(`${field}.tenant must be a text that is not empty`);
  }
  if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === "string")) {
    throw new KeyFileError(`${field}.scopes must be a list of texts`);
  }
}

/**
 * Changes a file of keys, or creates it, for its owner alone. The new content is written next to it
 * and replaces it at once, so a server never reads half of it, and a second change has to wait.
 */
export function updateKeyFile(
  path: string,
  change: (records: readonly ApiKeyRecord[]) => readonly ApiKeyRecord[],
): void {
  const next = `${path}.new`;
  mkdirSync(dirname(path), { recursive: true });
  try {
    writeFileSync(next, "", { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new KeyFileError(
      `${path} is being changed by another process; if that is not so, delete ${next}`,
    );
  }
  try {
    const keys = change(readKeyFile(path) ?? []);
    writeFileSync(next, `${JSON.stringify({ keys }, undefined, 2)}\n`, { flush: true });
    renameSync(next, path);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
}
