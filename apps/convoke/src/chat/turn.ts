import type { Answer, FollowOptions, Run } from "@convoke/client";
import {
  type Approval,
  type ApprovalOption,
  type DataPart,
  EXTENSIONS,
  type PublicEvent,
  type Task,
  isInterrupted,
} from "@convoke/protocol";
import { type CommandContext, UsageError } from "../terminal/command.ts";
import { outcomeOf } from "../follow/outcome.ts";
import { reconnectOf } from "../connect/agent-options.ts";
import { StreamPrinter } from "../follow/stream-printer.ts";

const { uri: APPROVALS } = EXTENSIONS.approvals;

const WORD = /^(approve|yes|reject|no)\b[\s:,.]*([^]*)$/i;

const WHICH = /^(all\b|\d+\b)[\s:,.]*([^]*)$/i;

/** For how long an approval may hold, beside this once. */
const LASTING: ReadonlySet<string> = new Set(["conversation", "always"] satisfies ApprovalOption[]);

export interface TurnOptions {
  readonly open: (options: FollowOptions) => Run;
  readonly context: CommandContext;
  /** Whether it is about a task of which everything so far was seen. */
  readonly isAnswer: boolean;
  /** Whether nothing is said, so that a task that waits already is all there is to see. */
  readonly isLook: boolean;
}

/** One answer of the agent, shown as it comes, that can be canceled or left. */
export class Turn {
  readonly #run: Run;
  readonly #printer: StreamPrinter | undefined;
  readonly #abort = new AbortController();
  readonly #isLook: boolean;
  #isCanceled = false;

  constructor({ open, context, isAnswer, isLook }: TurnOptions) {
    const { io } = context;
    this.#isLook = isLook;
    this.#printer = context.flag("json")
      ? undefined
      : new StreamPrinter(io, { skipEarlier: isAnswer, isQuiet: true });
    this.#run = open({
      signal: AbortSignal.any([io.signal, this.#abort.signal]),
      ...reconnectOf(context),
      onNotice: ({ message, ...more }) => {
        if (!("attempt" in more) || more.attempt === 1) this.#printer?.note(message);
      },
    });
  }

  get isCanceled(): boolean {
    return this.#isCanceled;
  }

  /** Shows the answer until the agent has done its part. */
  async follow(): Promise<Answer> {
    try {
      for await (const event of this.#run) {
        this.#printer?.show(event);
        if (this.#isQuestion(event)) break;
      }
      const answer = await this.#run.result;
      this.#printer?.finish(answer.task && outcomeOf(answer.task));
      return answer;
    } catch (error) {
      this.#printer?.endLineOnScreen();
      throw error;
    }
  }

  /** Has the agent stop; the answer then ends as the agent says. */
  async cancel(): Promise<Task | undefined> {
    this.#isCanceled = true;
    this.#printer?.note("Canceling. Ctrl+C again leaves.");
    return this.#run.cancel();
  }

  /** Stops reading; the task goes on. */
  leave(): void {
    this.#abort.abort(new Error("the person left"));
  }

  /** An agent that waits for an authorization keeps its stream open; the person should hear of it now. */
  #isQuestion(event: PublicEvent): boolean {
    if (event.kind !== "status-update" && !(this.#isLook && event.kind === "task")) return false;
    return isInterrupted(event.status.state);
  }
}

/**
 * The decisions that a line is, for an agent that waits for some: "approve", "reject: why", and with
 * several open "approve 1" or "reject all". Nothing for a line that is a message.
 */
export function decisionsIn(
  typed: string,
  open: readonly Approval[],
): readonly DataPart[] | undefined {
  const [, word = "", after = ""] = WORD.exec(typed.trim()) ?? [];
  if (word === "" || open.length === 0) return undefined;
  const { chosen, rest } = targets(open, after);
  const option = optionOf(word.toLowerCase(), rest);
  if (option === undefined) {
    // "yes, but" is another message, unless it says what it is about.
    if (open.length === 1) return undefined;
    throw new UsageError(advice(open));
  }
  return chosen.map((approval) => {
    if (!approval.options.includes(option)) {
      throw new UsageError(`It can be decided by ${approval.options.join(", ")} only.`);
    }
    return answerPart(approval, option, option === "reject" ? rest : "");
  });
}

/** How to decide, for whoever is asked. */
export function advice(open: readonly Approval[]): string {
  if (open.length === 1) return 'Type "approve", or "reject" and why. Anything else gives it up.';
  const some = `${open.length} approvals are open`;
  return `${some}: type "approve 1", "approve all", or "reject 2" and why. Anything else gives them up.`;
}

function targets(
  open: readonly Approval[],
  after: string,
): { readonly chosen: readonly Approval[]; readonly rest: string } {
  if (open.length === 1) return { chosen: open, rest: after };
  const [, which = "", rest = ""] = WHICH.exec(after) ?? [];
  if (which.toLowerCase() === "all") return { chosen: open, rest };
  const approval = open[Number(which) - 1];
  if (which === "" || approval === undefined) throw new UsageError(advice(open));
  return { chosen: [approval], rest };
}

function optionOf(word: string, rest: string): ApprovalOption | undefined {
  if (word === "reject") return "reject";
  if (word === "no") return rest === "" ? "reject" : undefined;
  if (rest === "") return "once";
  const lasting = rest.trim().toLowerCase();
  return word === "approve" && LASTING.has(lasting) ? (lasting as ApprovalOption) : undefined;
}

function answerPart(
  { id: approvalId, digest }: Approval,
  option: ApprovalOption,
  feedback: string,
): DataPart {
  return {
    kind: "data",
    data: { approvalId, digest, option, ...(feedback !== "" && { feedback }) },
    metadata: { [APPROVALS]: { type: "approval-answer" } },
  };
}
