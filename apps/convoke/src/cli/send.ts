import { type Task, textOf, textOfParts } from "@convoke/protocol";
import { printable } from "@convoke/protocol/internal";
import type { Answer } from "@convoke/client";
import {
  AGENT_ENVIRONMENT,
  AGENT_OPTIONS,
  MESSAGE_OPTIONS,
  RECONNECT_OPTIONS,
  readReconnect,
  readRequest,
  readUrl,
} from "../connect/agent-options.ts";
import { type Command, type CommandContext, EXIT, exitCodeFor } from "../terminal/command.ts";
import { coloursFor } from "../terminal/output.ts";
import { connectOptions, withAgent } from "../connect/connect-options.ts";
import { INPUT_OPTIONS, readInput } from "../connect/read-input.ts";
import { reportOutcome, toOutcome } from "../follow/outcome.ts";
import { summarizeParts } from "../follow/stream-printer.ts";

export const sendCommand: Command = {
  name: "send",
  summary: "Send a message to an agent and wait for its answer",
  usage: '<url> ["text" | -] [options]',
  examples: [
    'convoke send http://127.0.0.1:3000 "Hello"',
    'convoke send http://127.0.0.1:3000 --task 0198f3c2 "yes"',
    'convoke send http://127.0.0.1:3000 "What is this?" --file photo.png --data \'{"lang":"en"}\'',
    "git diff | convoke send http://127.0.0.1:3000",
    'convoke send http://127.0.0.1:3000 "Hello" --json | jq .text',
  ],
  options: { ...INPUT_OPTIONS, ...MESSAGE_OPTIONS, ...RECONNECT_OPTIONS, ...AGENT_OPTIONS },
  environment: AGENT_ENVIRONMENT,
  run: send,
};

async function send(context: CommandContext): Promise<number> {
  const { io } = context;
  readUrl(context);
  const reconnect = readReconnect(context);
  const request = readRequest(context);
  const place = { contextId: context.text("context"), taskId: context.text("task") };
  const options = await connectOptions(context);
  const input = await readInput(context);
  const answer = await withAgent(
    context,
    (agent) => agent.send(input, { ...place, ...request, ...reconnect, signal: io.signal }),
    options,
  );
  if (context.flag("json")) {
    io.stdout(`${JSON.stringify(answer)}\n`);
    return answer.task === undefined ? EXIT.done.code : exitCodeFor(answer.task.status.state);
  }
  return show(answer, context);
}

/** The answer goes to stdout and everything about it to stderr, so that a pipe gets the answer alone. */
function show({ text, task }: Answer, context: CommandContext): number {
  const { io } = context;
  const { dim } = coloursFor(io, "stderr");
  const said = task === undefined ? text : answerOf(task);
  if (said !== "") io.stdout(`${io.isTTY.stdout ? printable(said) : said}\n`);
  if (task === undefined) {
    io.stderr(`${dim("a message, without a task")}\n`);
    return EXIT.done.code;
  }
  for (const line of (task.artifacts ?? []).flatMap(summarizeParts)) io.stderr(`${dim(line)}\n`);
  return reportOutcome(toOutcome(task), context);
}

/** Only the status message of a completed task is an answer; otherwise it is a question or the reason of a failure. */
function answerOf(task: Task): string {
  if (task.status.state === "completed") return textOf(task);
  const texts = (task.artifacts ?? []).map(({ parts }) => textOfParts(parts));
  return texts.filter((part) => part !== "").join("\n");
}
