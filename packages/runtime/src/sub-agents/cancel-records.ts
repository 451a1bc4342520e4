import type { AgentEnvironment, KeyValueStore } from "@convoke/protocol";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A cancel that a sub-agent has not confirmed, as it is stored. */
export interface CancelRecord {
  /** The calling agent. Several agents may keep their records in the same folder. */
  readonly caller: string;
  /** The name of the sub-agent in the caller's definition. */
  readonly agent: string;
  readonly owner: string;
  /** The task to cancel or, if its id is unknown, the message that may have started it. */
  readonly childTaskId?: string;
  readonly message?: SentMessage;
}

/** The message that called the sub-agent. */
interface SentMessage {
  readonly messageId: string;
  /** The context that the message was sent to. */
  readonly childContextId: string;
}

/** Identifies a cancel among those of one caller. */
export function cancelKey(record: Omit<CancelRecord, "caller">): string {
  const { agent, owner, childTaskId, message } = record;
  return JSON.stringify([agent, owner, childTaskId ?? message?.messageId]);
}

/** Keeps pending cancels, so that a crash does not lose them. Each is sent by one process at a time. */
export interface CancelRecords {
  /** Stores a cancel that this process sends. */
  add(record: CancelRecord): void | Promise<void>;
  /** The stored cancels that no process sends: this one does from now on. */
  claim(): Promise<readonly CancelRecord[]>;
  /** Says that this process still sends it. False if another one does, or if it was confirmed. */
  renew(record: CancelRecord): Promise<boolean>;
  remove(record: CancelRecord): void | Promise<void>;
  /** This process stops to send it; it may be claimed after this time. */
  release(record: CancelRecord, afterMs: number): Promise<void>;
}

/** The records of an agent in its environment. Absent if nothing is stored there. */
export function openCancelRecords(
  { values, folder }: AgentEnvironment,
  caller: string,
): CancelRecords | undefined {
  if (values !== undefined) return new SharedRecords(values("sub-agent-cancels"));
  return folder === undefined ? undefined : new FileRecords(folder, caller);
}

const FILE = /^sub-agent-cancel-[0-9a-f]{32}\.json$/;

/** One file for each cancel, in the folder of the only process of the agent. */
class FileRecords implements CancelRecords {
  readonly #folder: string;
  readonly #caller: string;

  constructor(folder: string, caller: string) {
    this.#folder = folder;
    this.#caller = caller;
  }

  /** Writes synchronously, because a crash may follow immediately. */
  add(record: CancelRecord): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    writeFileSync(this.#path(record), JSON.stringify(record), { mode: 0o600 });
  }

  async claim(): Promise<readonly CancelRecord[]> {
    return this.#files().flatMap((file) => {
      const record = read(join(this.#folder, file));
      return record?.caller === this.#caller ? [record] : [];
    });
  }

  async renew(): Promise<boolean> {
    return true;
  }

  remove(record: CancelRecord): void {
    rmSync(this.#path(record), { force: true });
  }

  /** The next process of the agent finds it. */
  async release(): Promise<void> {}

  #path(record: CancelRecord): string {
    return join(this.#folder, `sub-agent-cancel-${digestOf(record)}.json`);
  }

  #files(): readonly string[] {
    try {
      return readdirSync(this.#folder).filter((name) => FILE.test(name));
    } catch {
      return [];
    }
  }
}

function digestOf(record: CancelRecord): string {
  const name = JSON.stringify([record.caller, cancelKey(record)]);
  return createHash("sha256").update(name).digest("hex").slice(0, 32);
}

function read(path: string): CancelRecord | undefined {
  try {
    return parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

/** `undefined` if the text is not whole. */
function parse(text: string): (CancelRecord & { readonly claimableAt?: number }) | undefined {
  try {
    const record = JSON.parse(text) as CancelRecord;
    const { caller, agent, owner, childTaskId, message } = record;
    const what = childTaskId === undefined ? Object.values(message ?? {}) : [childTaskId];
    const texts = [caller, agent, owner, ...what];
    const isWhole = what.length > 0 && texts.every((value) => typeof value === "string");
    return isWhole ? record : undefined;
  } catch {
    return undefined;
  }
}

/** How long a process may be silent before another one sends its cancels. */
const LEASE_MS = 15_000;

/**
 * Values that all processes of the agent share. Clocks that disagree make two processes send a
 * cancel, which does no harm.
 */
class SharedRecords implements CancelRecords {
  readonly #values: KeyValueStore;
  /** The versions of those that this process sends. */
  readonly #own = new Map<string, number>();

  constructor(values: KeyValueStore) {
    this.#values = values;
  }

  async add(record: CancelRecord): Promise<void> {
    await this.#put(record, LEASE_MS);
  }

  async claim(): Promise<readonly CancelRecord[]> {
    const claimed: CancelRecord[] = [];
    for (const { key, value, version } of await this.#values.list()) {
      const stored = this.#own.has(key) ? undefined : parse(value);
      if (stored === undefined || (stored.claimableAt ?? 0) > Date.now()) continue;
      const { claimableAt: _, ...record } = stored;
      if (await this.#put(record, LEASE_MS, version)) claimed.push(record);
    }
    return claimed;
  }

  async renew(record: CancelRecord): Promise<boolean> {
    return this.#put(record, LEASE_MS, this.#own.get(digestOf(record)));
  }

  async remove(record: CancelRecord): Promise<void> {
    await this.#values.delete(digestOf(record));
    this.#own.delete(digestOf(record));
  }

  async release(record: CancelRecord, afterMs: number): Promise<void> {
    const version = this.#own.get(digestOf(record));
    if (version !== undefined) await this.#put(record, afterMs, version);
    this.#own.delete(digestOf(record));
  }

  /** Stores until when the cancel is this process's. False if another version was stored. */
  async #put(record: CancelRecord, forMs: number, version?: number): Promise<boolean> {
    const key = digestOf(record);
    const text = JSON.stringify({ ...record, claimableAt: Date.now() + forMs });
    const written = await this.#values.put(key, text, version);
    if (written === undefined) this.#own.delete(key);
    else this.#own.set(key, written);
    return written !== undefined;
  }
}
