import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SentMessage } from "./find-child.ts";

/** A task of a sub-agent that is to be canceled. */
export interface CancelRecord {
  /** The agent that called it: several may keep their records in one folder. */
  readonly caller: string;
  /** The name of the sub-agent there. */
  readonly agent: string;
  readonly owner: string;
  /** Its task; where nobody knows that, the message that may have begun it. */
  readonly childTaskId?: string;
  readonly message?: SentMessage;
}

const FILE = /^sub-agent-cancel-[0-9a-f]{32}\.json$/;

/** Remembers what is not canceled yet, in a folder, one file for each: a crash must not let it go on. */
export class CancelRecords {
  readonly #folder: string;
  readonly #caller: string;

  constructor(folder: string, caller: string) {
    this.#folder = folder;
    this.#caller = caller;
  }

  /** Writes at once, because the crash may come at once. */
  add(record: CancelRecord): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    writeFileSync(this.#path(record), JSON.stringify(record), { mode: 0o600 });
  }

  remove(record: CancelRecord): void {
    rmSync(this.#path(record), { force: true });
  }

  /** What an earlier process of this agent did not come to. */
  all(): readonly CancelRecord[] {
    return this.#files().flatMap((file) => {
      const record = read(join(this.#folder, file));
      return record?.caller === this.#caller ? [record] : [];
    });
  }

  #path(record: CancelRecord): string {
    const name = JSON.stringify([record.caller, cancelKey(record)]);
    const digest = createHash("sha256").update(name).digest("hex").slice(0, 32);
    return join(this.#folder, `sub-agent-cancel-${digest}.json`);
  }

  #files(): readonly string[] {
    try {
      return readdirSync(this.#folder).filter((name) => FILE.test(name));
    } catch {
      return [];
    }
  }
}

/** What makes a cancel the one it is, among those of one caller. */
export function cancelKey(record: Omit<CancelRecord, "caller">): string {
  const { agent, owner, childTaskId, message } = record;
  return JSON.stringify([agent, owner, childTaskId ?? message?.messageId]);
}

function read(path: string): CancelRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(path, "utf8")) as CancelRecord;
    const { caller, agent, owner, childTaskId, message } = record;
    const what = childTaskId === undefined ? Object.values(message ?? {}) : [childTaskId];
    const texts = [caller, agent, owner, ...what];
    const isWhole = what.length > 0 && texts.every((text) => typeof text === "string");
    return isWhole ? record : undefined;
  } catch {
    return undefined;
  }
}
