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
import { toOutcome } from "../follow/outcome.ts";
import { readReconnect } from "../connect/agent-options.ts";
import { StreamPrinter } from "../follow/stream-printer.ts";

export interface TurnOptions {
  readonly open: (options: FollowOptions) => Run;
  readonly context: CommandContext;
  /** Whether it continues a task whose output so far was already printed. */
  readonly isAnswer: boolean;
  /** Whether no message is sent, so that a task that is already waiting ends the turn. */
  readonly isLook: boolean;
}

/** One answer of the agent, printed as it arrives. It can be canceled or abandoned. */
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
      ...readReconnect(context),
      onNotice: ({ message, ...more }) => {
        if (!("attempt" in more) || more.attempt === 1) this.#printer?.note(message);
      },
    });
  }

  get isCanceled(): boolean {
    return this.#isCanceled;
  }

  /** Prints the answer until the task is finished or interrupted. */
  async follow(): Promise<Answer> {
    try {
      for await (const event of this.#run) {
        this.#printer?.show(event);
        if (this.#isQuestion(event)) break;
      }
      const answer = await this.#run.result;
      this.#printer?.finish(answer.task && toOutcome(answer.task));
      return answer;
    } catch (error) {
      this.#printer?.endLineOnScreen();
      throw error;
    }
  }

  /** Asks the agent to cancel; the turn then ends with the state that the agent reports. */
  async cancel(): Promise<Task | undefined> {
    this.#isCanceled = true;
    this.#printer?.note("Canceling. Press Ctrl+C again to leave.");
    return this.#run.cancel();
  }

  /** Stops reading; the task continues. */
  leave(): void {
    this.#abort.abort(new Error("the person left"));
  }

  /** An agent that waits for authorization keeps its stream open, but the user should know now. */
  #isQuestion(event: PublicEvent): boolean {
    if (event.kind !== "status-update" && !(this.#isLook && event.kind === "task")) return false;
    return isInterrupted(event.status.state);
  }
}

const WORD = /^(approve|yes|reject|no)\b[\s:,.]*([^]*)$/i;

/**
 * Parses a line as decisions on open approvals: "approve", "reject: why", or, if there are several,
 * "approve 1" or "reject all". Returns `undefined` if the line is an ordinary message.
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
    // "yes, but …" is an ordinary message, unless it names an approval.
    if (open.length === 1) return undefined;
    throw new UsageError(advice(open));
  }
  return chosen.map((approval) => {
    if (!approval.options.includes(option)) {
      throw new UsageError(`The only options are ${approval.options.join(", ")}.`);
    }
    return answerPart(approval, option, option === "reject" ? rest : "");
  });
}

/** How to answer open approvals. */
export function advice(open: readonly Approval[]): string {
  if (open.length === 1)
    return 'Type "approve", or "reject" and why. Any other message withdraws the call.';
  const some = `${open.length} approvals are open`;
  return `${some}: type "approve 1", "approve all", or "reject 2" and why. Any other message withdraws them.`;
}

const WHICH = /^(all\b|\d+\b)[\s:,.]*([^]*)$/i;

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

/** How long an approval can last, other than once. */
const LASTING: ReadonlySet<string> = new Set(["conversation", "always"] satisfies ApprovalOption[]);

function optionOf(word: string, rest: string): ApprovalOption | undefined {
  if (word === "reject") return "reject";
  if (word === "no") return rest === "" ? "reject" : undefined;
  if (rest === "") return "once";
  const lasting = rest.trim().toLowerCase();
  return word === "approve" && LASTING.has(lasting) ? (lasting as ApprovalOption) : undefined;
}

const { uri: APPROVALS } = EXTENSIONS.approvals;

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
