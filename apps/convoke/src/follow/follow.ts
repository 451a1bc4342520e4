import type { FollowOptions, Run } from "@convoke/client";
import type { PublicEvent } from "@convoke/protocol";
import { type CommandContext, EXIT, exitCodeOf } from "../terminal/command.ts";
import { commandLine } from "../terminal/command-line.ts";
import { explainError } from "../connect/explain-error.ts";
import { type Outcome, Progress, reportOutcome } from "./outcome.ts";
import { note } from "../terminal/output.ts";
import { reconnectOf } from "../connect/agent-options.ts";
import { StreamPrinter, type StreamPrinterOptions } from "./stream-printer.ts";

/** What is followed, and how it is shown. */
export interface Followed extends StreamPrinterOptions {
  readonly open: (options: FollowOptions) => Run;
  /** The task, when it was there before. */
  readonly taskId?: string | undefined;
  /** A question is shown and the stream read on, because somebody else may answer it. */
  readonly staysForAnswers?: boolean;
}

/** Shows the events of a task until it comes to rest, and gives the exit code. */
export async function follow(followed: Followed, context: CommandContext): Promise<number> {
  const { open, taskId, staysForAnswers = false } = followed;
  const { io } = context;
  const printer = context.flag("json") ? undefined : new StreamPrinter(io, followed);
  const events = open({
    signal: io.signal,
    ...reconnectOf(context),
    // Each further attempt says nothing new.
    onNotice: ({ kind, message, ...more }) => {
      if ("attempt" in more && more.attempt > 1) return;
      if (printer === undefined) note(context, message, { kind });
      else printer.note(message);
    },
  });
  const progress = new Progress();
  let asked: Outcome | undefined;

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
    printer?.endLineOnScreen();
    const code = explainError(error, context);
    if (progress.outcome !== undefined) suggestResume(progress.outcome.taskId, events, context);
    return code;
  }

  if (progress.isAtRest) {
    const { outcome } = progress;
    printer?.finish(outcome);
    if (outcome === undefined) return EXIT.done.code;
    const isTold = printer === undefined || outcome === asked;
    return isTold ? exitCodeOf(outcome.state) : reportOutcome(outcome, context);
  }
  printer?.endLineOnScreen();
  const unfinished = taskId ?? progress.outcome?.taskId;
  if (unfinished === undefined) note(context, "The stream ended without an answer.");
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
function suggestResume(taskId: string, events: Run, context: CommandContext): void {
  const { lastEventId } = events;
  const after = lastEventId === undefined ? [] : ["--after", lastEventId];
  const line = commandLine(context, "stream", ["--resume", taskId, ...after]);
  const message = `The stream ended before the task did. Go on with: ${line}`;
  note(context, message, { kind: "unfinished", taskId, lastEventId });
}
