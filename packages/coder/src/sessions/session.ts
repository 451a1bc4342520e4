import type { Message } from "@convoke/protocol";
import type { Mode } from "../policy/verdict.ts";
import type { SessionKey } from "../storage/session-key.ts";

/** What the agent keeps about a conversation. A session is a context of A2A of one caller. */
export interface Session extends SessionKey {
  /** The folder it works in. It is fixed with the first message. */
  readonly root: string;
  /** The mode that was chosen during the conversation. Absent: the one of the policy. */
  readonly mode?: Mode;
  /** The model that was chosen during the conversation. Absent: the first one. */
  readonly model?: string;
  /** The name that a person gave it, or the beginning of its first message. */
  readonly title: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly usage: SessionUsage;
  /** The ids of messages that the model does not get: commands, and what was undone or summarized. */
  readonly hidden: readonly string[];
  /** What the model gets instead of the messages that were summarized. */
  readonly summary?: string;
  /** The messages of the session that this one was forked from. */
  readonly inherited?: readonly Message[];
}

/** What a session has used so far. */
export interface SessionUsage {
  readonly turns: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Absent if the price of the model is not known. */
  readonly cost?: number;
  /** The tokens of the last request to the model and its answer: how full its context is. */
  readonly contextTokens?: number;
  /** The turn that was counted last, so that a restart does not count it again. */
  readonly lastTurn?: string;
}

export const NO_USAGE: SessionUsage = { turns: 0, inputTokens: 0, outputTokens: 0 };

/**
 * The messages that the model gets: without what is hidden, and with the summary or the inherited
 * messages first.
 */
export function visibleConversation(
  { hidden, summary, inherited = [] }: Session,
  conversation: readonly Message[],
): readonly Message[] {
  const left = new Set(hidden);
  const visible = [...inherited, ...conversation].filter(({ messageId }) => !left.has(messageId));
  return summary === undefined ? visible : [summaryMessage(summary), ...visible];
}

function summaryMessage(summary: string): Message {
  const text = `[Summary of the conversation so far]\n${summary}`;
  return { kind: "message", messageId: "summary", role: "user", parts: [{ kind: "text", text }] };
}

/** The ids under which a task of the context appears in later conversations. */
export function isOfTask({ messageId, taskId: own }: Message, taskId: string): boolean {
  return own === taskId || messageId.startsWith(`${taskId}-`);
}
