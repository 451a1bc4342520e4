import type { Answer, Question, RunNotice } from "@convoke/client";
import type { Approval, DataPart, PublicEvent } from "@convoke/protocol";
import type { CommandIo } from "../terminal/command.ts";
import type { ChatUsage } from "./usage.ts";

/** What the agent waits for. */
export interface Pending {
  readonly question: Question;
  /** The tool calls that wait for a decision, if that is what is asked. */
  readonly approvals: readonly Approval[];
}

/** What the user answers: words, or decisions on approvals. */
export type Typed = string | readonly DataPart[];

/** Where a conversation is shown and typed: a terminal, or lines of a script. */
export interface ChatFace {
  /** Whether a person sits there, who can react to errors. */
  readonly isPerson: boolean;
  /** Where errors are printed, as text. */
  readonly io: CommandIo;
  /** The extensions whose data it can show. */
  readonly extensions: readonly string[];
  /** The next input; `undefined` at the end. */
  next(pending: Pending | undefined): Promise<Typed | undefined>;
  /** A turn of the agent begins. */
  beginTurn(turn: TurnStart): TurnView;
  /** Shows what the agent waits for. `next` then reads the answer. */
  ask(pending: Pending): void;
  /** Shows a remark that is not part of the conversation. */
  note(line: string): void;
  /** Gives the terminal back. */
  close(): void;
}

/** What a face needs of its chat. */
export interface FaceOptions {
  /** The user pressed Ctrl+C. */
  readonly interrupt: () => void;
  readonly usage: ChatUsage;
}

export interface TurnStart {
  /** Whether it continues a task whose output so far was already shown. */
  readonly isAnswer: boolean;
}

/** Shows one turn of the agent as it arrives. */
export interface TurnView {
  show(event: PublicEvent): void;
  notice(notice: RunNotice): void;
  /** The user asked to cancel; the agent has not confirmed it yet. */
  canceling(): void;
  /** The turn has ended; without an answer, by an error. */
  end(answer: Answer | undefined): void;
}
