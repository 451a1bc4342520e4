import { printableJson } from "@convoke/protocol/internal";
import type { FollowOptions, Run } from "@convoke/client";
import type { PublicEvent } from "@convoke/protocol";
import { type CommandContext, EXIT, exitCodeFor } from "../terminal/command.ts";
import { commandLine } from "../terminal/command-line.ts";
import { explainError } from "../connect/explain-error.ts";
import { type Outcome, Progress, reportOutcome } from "./outcome.ts";
import { note } from "../terminal/output.ts";
import { readReconnect } from "../connect/agent-options.ts";
import { StreamPrinter, type StreamPrinterOptions } from "./stream-printer.ts";

/** What to follow, and how to print it. */
export interface FollowedRun extends StreamPrinterOptions {
  readonly open: (options: FollowOptions) => Run;
  /** The task, if it existed before. */
  readonly taskId?: string | undefined;
  /** Keep following after a question, because another client may answer it. */
  readonly staysForAnswers?: boolean;
}

/** Prints the events of a task until it is finished or interrupted. Returns the exit code. */
export async function follow(followed: FollowedRun, context: CommandContext): Promise<number> {
  const { open, taskId, staysForAnswers = false } = followed;
  const { io } = context;
  const printer = context.flag("json") ? undefined : new StreamPrinter(io, followed);
  const events = open({
    signal: io.signal,
    ...readReconnect(context),
    // Report only the first attempt to reconnect.
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
    if (printer === undefined) io.stdout(`${printableJson({ id, event })}\n`);
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
    printer?.pause();
    const code = explainError(error, context);
    if (progress.outcome !== undefined) suggestResume(progress.outcome.taskId, events, context);
    return code;
  }

  if (progress.isAtRest) {
    const { outcome } = progress;
    printer?.finish(outcome);
    if (outcome === undefined) return EXIT.done.code;
    const isTold = printer === undefined || outcome === asked;
    return isTold ? exitCodeFor(outcome.state) : reportOutcome(outcome, context);
  }
  printer?.pause();
  const unfinished = taskId ?? progress.outcome?.taskId;
  if (unfinished === undefined) note(context, "The stream ended without a response.");
  else suggestResume(unfinished, events, context);
  return EXIT.noAnswer.code;
}

/**
 * Some agents keep the stream open while they wait for input, but the user should answer now.
 * After an answer, the first task event may still be the old question, so only status updates count.
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
  printer.pause();
  reportOutcome(outcome, context);
}

/** Prints how to resume, because the task continues without us. */
function suggestResume(taskId: string, events: Run, context: CommandContext): void {
  const { lastEventId } = events;
  const after = lastEventId === undefined ? [] : ["--after", lastEventId];
  const line = commandLine(context, "stream", ["--resume", taskId, ...after]);
  const message = `The stream ended before the task did. Resume with: ${line}`;
  note(context, message, { kind: "unfinished", taskId, lastEventId });
}
