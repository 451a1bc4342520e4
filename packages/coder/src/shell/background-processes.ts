import { randomBytes } from "node:crypto";
import { ToolOutput } from "@convoke/runtime";
import type { SessionKey } from "../storage/session-key.ts";
import { type ShellEnd, ShellProcess, type ShellStart } from "./shell-process.ts";

interface Entry extends SessionKey {
  readonly process: ShellProcess;
  /** The output that was not read yet. */
  unread: ToolOutput;
}

/** The most background processes of one conversation, and of all together. */
const MAX_PER_CONVERSATION = 8;
const MAX_IN_ALL = 64;

const MAX_UNREAD = 64 * 1024;

/** Commands that keep running after their call. Each conversation sees only its own. */
export class BackgroundProcesses {
  readonly #entries = new Map<string, Entry>();

  /** Starts a command. Throws if the conversation has too many. */
  start(command: Omit<ShellStart, "print">, { owner, contextId }: SessionKey): string {
    this.#makeRoom({ owner, contextId });
    const processId = `process-${randomBytes(4).toString("hex")}`;
    const entry: Entry = {
      owner,
      contextId,
      unread: new ToolOutput(MAX_UNREAD),
      process: new ShellProcess({ ...command, print: (text) => void entry.unread.add(text) }),
    };
    this.#entries.set(processId, entry);
    return processId;
  }

  /** What it printed since the last read, and how it ended, if it has. */
  read(processId: string, owner: SessionKey): { output: string; end: ShellEnd | undefined } {
    const entry = this.#entry(processId, owner);
    const output = entry.unread.text();
    entry.unread = new ToolOutput(MAX_UNREAD);
    return { output, end: entry.process.end };
  }

  /** The process of this conversation. Throws if there is none. */
  process(processId: string, owner: SessionKey): ShellProcess {
    return this.#entry(processId, owner).process;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ process }) => process.stop()));
    this.#entries.clear();
  }

  #entry(processId: string, { owner, contextId }: SessionKey): Entry {
    const entry = this.#entries.get(processId);
    if (entry?.owner === owner && entry.contextId === contextId) return entry;
    throw new Error(`there is no process ${processId} in this conversation`);
  }

  /** Makes room by forgetting the oldest process that has ended. */
  #makeRoom({ owner, contextId }: SessionKey): void {
    const all = [...this.#entries];
    const own = all.filter(([, entry]) => entry.owner === owner && entry.contextId === contextId);
    for (const [some, limit, where] of [
      [own, MAX_PER_CONVERSATION, "in this conversation"],
      [all, MAX_IN_ALL, "on this server"],
    ] as const) {
      if (some.length < limit) continue;
      const ended = some.find(([, { process }]) => process.end !== undefined);
      if (ended === undefined) {
        throw new Error(`${limit} processes already run ${where}; end one with shell_kill first`);
      }
      this.#entries.delete(ended[0]);
    }
  }
}
