import { type EventStream, type RemoteAgent, RemoteError } from "@convoke/client";
import { ERRORS, type PublicEvent } from "@convoke/protocol";
import type { CommandContext } from "./command.ts";
import { commandLine } from "./command-line.ts";
import { EXIT, exitCodeOf } from "./exit-code.ts";
import { explainError } from "./explain-error.ts";
import { type Outcome, reportOutcome } from "./outcome.ts";
import { Progress } from "./progress.ts";
import { StreamPrinter, type StreamPrinterOptions } from "./stream-printer.ts";

/** What is followed, and how it is shown. */
export interface Followed extends StreamPrinterOptions {
  readonly agent: RemoteAgent;
  readonly events: EventStream;
  /** The task, when it was there before: it may have ended, and is shown then. */
  readonly taskId?: string | undefined;
  /** A question is shown and the stream read on, because somebody else may answer it. */
  readonly staysForAnswers?: boolean;
}

/** Shows the events of a task until it comes to rest, and gives the exit code. */
export async function follow(followed: Followed, context: CommandContext): Promise<number> {
  const { agent, events, taskId, staysForAnswers = false } = followed;
  const { io } = context;
  const printer = context.flag("json") ? undefined : new StreamPrinter(io, followed);
  const progress = new Progress();
  let asked: Outcome | undefined;
  let refusal: unknown;

  const show = (event: PublicEvent, id: string | undefined): void => {
    progress.see(event);
    if (printer === undefined) io.stdout(`${JSON.stringify({ id, event })}\n`);
    else printer.show(event);
  };

  try {
    for await (const event of events) {
      show(event, events.lastEventId);
      if (!isQuestion(event, taskId !== undefined)) continue;
      if (!staysForAnswers) break;
      asked = progress.outcome;
      showQuestion(asked, printer, context);
    }
  } catch (error) {
    if (taskId === undefined || !isRefusal(error)) {
      printer?.endLineOnScreen();
      const code = explainError(error, io);
      if (progress.outcome !== undefined) suggestResume(progress.outcome.taskId, events, context);
      return code;
    }
    // A task that ended cannot be followed any more, but it can be shown.
    show(await agent.get(taskId, { signal: io.signal }), undefined);
    refusal = error;
  }

  if (progress.isAtRest) {
    const { outcome } = progress;
    printer?.finish(outcome);
    if (outcome === undefined) return EXIT.done.code;
    const isTold = printer === undefined || outcome === asked;
    return isTold ? exitCodeOf(outcome.state) : reportOutcome(outcome, context);
  }
  printer?.endLineOnScreen();
  // The agent lets nobody follow its tasks: coming back would not help.
  if (refusal !== undefined) return explainError(refusal, io);
  const unfinished = taskId ?? progress.outcome?.taskId;
  if (unfinished === undefined) io.stderr("The stream ended without an answer.\n");
  else suggestResume(unfinished, events, context);
  return EXIT.noAnswer.code;
}

/**
 * Some agents keep the stream open while they wait for input; the person
 * should answer now. The task that an answer is sent to may still be shown as
 * waiting at first, so there only the news of a question counts.
 */
function isQuestion(event: PublicEvent, isEarlierTask: boolean): boolean {
  if (event.kind !== "status-update" && !(isEarlierTask && event.kind === "task")) return false;
  return event.status.state === "input-required";
}

function isRefusal(error: unknown): boolean {
  return error instanceof RemoteError && error.code === ERRORS.UnsupportedOperation.code;
}

function showQuestion(
  outcome: Outcome | undefined,
  printer: StreamPrinter | undefined,
  context: CommandContext,
): void {
  if (outcome === undefined || printer === undefined) return;
  printer.endLineOnScreen();
  reportOutcome(outcome, context);
}

/** The task goes on without us, so the way back to it is worth a line. */
function suggestResume(taskId: string, events: EventStream, context: CommandContext): void {
  const after = events.lastEventId === undefined ? [] : ["--after", events.lastEventId];
  const line = commandLine(context, "stream", ["--resume", taskId, ...after]);
  context.io.stderr(`The stream ended before the task did. Go on with: ${line}\n`);
}
