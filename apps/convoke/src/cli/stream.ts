import { type EventStream, type RemoteAgent, RemoteError } from "@convoke/client";
import { ERRORS, type PublicEvent } from "@convoke/protocol";
import {
  AGENT_OPTIONS,
  MESSAGE_OPTIONS,
  openAgent,
  refuseText,
  textArgument,
  urlOf,
} from "./agent-options.ts";
import type { Command, CommandContext } from "./command.ts";
import { commandLine } from "./command-line.ts";
import { EXIT, exitCodeOf } from "./exit-code.ts";
import { explainError } from "./explain-error.ts";
import { type Outcome, reportOutcome } from "./outcome.ts";
import { Progress } from "./progress.ts";
import { StreamPrinter } from "./stream-printer.ts";
import { UsageError } from "./usage-error.ts";

export const streamCommand: Command = {
  name: "stream",
  summary: "Say something to an agent and see its answer as it comes",
  usage: '<url> "text" [options]   or   <url> --resume <task> [--after <event>] [options]',
  examples: [
    'convoke stream http://127.0.0.1:3000 "slow 20"',
    "convoke stream http://127.0.0.1:3000 --resume 0198f3c2 --after 7",
    'convoke stream http://127.0.0.1:3000 "Hello" --json',
  ],
  options: {
    ...MESSAGE_OPTIONS,
    resume: {
      type: "string",
      value: "<task>",
      help: "Follow this task instead of saying something",
    },
    after: { type: "string", value: "<event>", help: "With --resume: go on after this event" },
    ...AGENT_OPTIONS,
  },
  run: stream,
};

async function stream(context: CommandContext): Promise<number> {
  const { io } = context;
  const open = readRequest(context);
  const resumed = context.text("resume");
  const agent = await openAgent(context);
  const printer = context.flag("json")
    ? undefined
    : new StreamPrinter(io, { skipEarlier: context.text("task") !== undefined });
  const progress = new Progress();
  const events = open(agent);

  const show = (event: PublicEvent, id: string | undefined): void => {
    progress.see(event);
    if (printer === undefined) io.stdout(`${JSON.stringify({ id, event })}\n`);
    else printer.show(event);
  };

  try {
    for await (const event of events) {
      show(event, events.lastEventId);
      if (isQuestion(event, resumed !== undefined)) break;
    }
  } catch (error) {
    if (resumed === undefined || !isRefusal(error)) {
      printer?.endLineOnScreen();
      const code = explainError(error, io);
      if (progress.outcome !== undefined) suggestResume(progress.outcome.taskId, events, context);
      return code;
    }
    // A task that ended cannot be followed any more, but it can be shown.
    show(await agent.get(resumed, { signal: io.signal }), undefined);
  }

  if (progress.isAtRest) return finish(progress.outcome, printer, context);
  printer?.endLineOnScreen();
  const taskId = resumed ?? progress.outcome?.taskId;
  if (taskId === undefined) io.stderr("The stream ended without an answer.\n");
  else suggestResume(taskId, events, context);
  return EXIT.noAnswer.code;
}

/** What to ask of the agent; everything that was typed is checked before it is called. */
function readRequest(context: CommandContext): (agent: RemoteAgent) => EventStream {
  const { text, io } = context;
  urlOf(context);
  const taskId = text("resume");
  const lastEventId = text("after");
  const { signal } = io;
  if (taskId === undefined) {
    if (lastEventId !== undefined) throw new UsageError("--after needs --resume <task>.");
    const input = textArgument(context);
    const options = { contextId: text("context"), taskId: text("task"), signal };
    return (agent) => agent.stream(input, options);
  }
  refuseText(context);
  if (text("task") !== undefined || text("context") !== undefined) {
    throw new UsageError("--resume says nothing, so it takes neither --task nor --context.");
  }
  return (agent) => agent.subscribe(taskId, { lastEventId, signal });
}

/**
 * Some agents keep the stream open while they wait for input; the person
 * should answer now. The task that an answer is sent to may still be shown as
 * waiting at first, so there only the news of a question counts.
 */
function isQuestion(event: PublicEvent, isResumed: boolean): boolean {
  if (event.kind !== "status-update" && !(isResumed && event.kind === "task")) return false;
  return event.status.state === "input-required";
}

function isRefusal(error: unknown): boolean {
  return error instanceof RemoteError && error.code === ERRORS.UnsupportedOperation.code;
}

function finish(
  outcome: Outcome | undefined,
  printer: StreamPrinter | undefined,
  context: CommandContext,
): number {
  printer?.finish(outcome);
  if (outcome === undefined) return EXIT.done.code;
  return printer === undefined ? exitCodeOf(outcome.state) : reportOutcome(outcome, context);
}

/** The task goes on without us, so the way back to it is worth a line. */
function suggestResume(taskId: string, events: EventStream, context: CommandContext): void {
  const after = events.lastEventId === undefined ? [] : ["--after", events.lastEventId];
  const line = commandLine(context, "stream", ["--resume", taskId, ...after]);
  context.io.stderr(`The stream ended before the task did. Go on with: ${line}\n`);
}
