import type { ContentChange, PlanEntry } from "@convoke/coder/internal";
import type { A2APart, ApprovalOption, Metadata } from "@convoke/protocol";
import type { ChildProgram, ProgramEnd } from "./child-program.ts";
import type { EventQueue } from "./event-queue.ts";

/** What a program says while it works on a prompt, whichever protocol it speaks. */
export type ProgramEvent =
  /** More text of the answer. */
  | { readonly kind: "text"; readonly text: string }
  /** More text of a thought. */
  | { readonly kind: "thought"; readonly text: string }
  | { readonly kind: "status"; readonly text: string }
  | {
      readonly kind: "artifact";
      readonly name: string;
      readonly parts: readonly A2APart[];
      readonly description?: string;
    }
  /** A tool call that is new or has changed. */
  | { readonly kind: "tool"; readonly call: ProgramToolCall }
  | { readonly kind: "plan"; readonly entries: readonly PlanEntry[] }
  | { readonly kind: "permission"; readonly permission: Permission }
  | { readonly kind: "question"; readonly question: ProgramQuestion }
  /** The last event of a prompt. */
  | PromptEnd;

export interface ProgramToolCall {
  readonly callId: string;
  /** What kind of call it is, for programs. */
  readonly name: string;
  /** What it does, for people. */
  readonly title: string;
  readonly status: "pending" | "running" | "succeeded" | "failed";
  /** The arguments, as far as the program shows them. */
  readonly input: Metadata;
  /** The files that it changes. */
  readonly changes: readonly ContentChange[];
  /** What it has printed or returned. */
  readonly output: string;
}

/** The program waits for a decision on a call. */
export interface Permission {
  readonly call: ProgramToolCall;
  /** What the program offers. */
  readonly options: readonly ApprovalOption[];
  /** Answers the program. `undefined` withdraws the question. */
  readonly answer: (option: ApprovalOption | undefined) => void;
}

/** The program waits for an answer to a question. */
export interface ProgramQuestion {
  readonly prompt: string;
  readonly options?: readonly string[];
  readonly answer: (text: string) => void;
}

/** How a prompt ended. */
export interface PromptEnd {
  readonly kind: "end";
  readonly outcome: "completed" | "canceled" | "rejected" | "failed";
  /** For programs: why it did not complete. */
  readonly reason?: string;
  /** For people; safe to show to the caller. */
  readonly text?: string;
  /** An error whose text is only for the log. */
  readonly cause?: unknown;
  /** The process is gone: another one may continue the session. */
  readonly isLost?: true;
}

/** The end of a prompt whose process is gone. */
export function lostEnd({ reason, text }: ProgramEnd): PromptEnd {
  return {
    kind: "end",
    outcome: "failed",
    reason,
    text: `The program is gone. ${text}`,
    isLost: true,
  };
}

/** What a program is asked to do. */
export interface ProgramPrompt {
  readonly taskId: string;
  readonly parts: readonly A2APart[];
  /** What the program should know of the conversation, if it does not remember it. Oldest first. */
  readonly history: readonly { readonly role: "user" | "agent"; readonly text: string }[];
  /** An earlier process was interrupted while it worked on the same prompt. */
  readonly isContinued: boolean;
  /** The mode that the caller has chosen, if it may. */
  readonly mode?: string | undefined;
}

/** A conversation with a running program. It works on one prompt at a time. */
export interface ProgramSession {
  readonly child: ChildProgram;
  /** By this id another process can continue the session; absent if the program cannot do that. */
  readonly resumeId: string | undefined;
  /** Whether the program remembers the conversation so far. */
  readonly remembers: boolean;
  /** Sends a prompt. The last event is the end. */
  prompt(prompt: ProgramPrompt): EventQueue<ProgramEvent>;
  /** Asks the program to end the current prompt. */
  cancel(): void;
}
