import { type Task, textOf, textOfParts } from "@convoke/protocol";
import { printable, printableJson } from "@convoke/protocol/internal";
import type { Answer, RemoteAgent, SendOptions } from "@convoke/client";
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
import { commandLine } from "../terminal/command-line.ts";
import { coloursFor, note } from "../terminal/output.ts";
import { connectOptions, withAgent } from "../connect/connect-options.ts";
import { resolveTaskId } from "../connect/task-id.ts";
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
  const named = context.text("task");
  const options = await connectOptions(context);
  const input = await readInput(context);
  const sending = { ...request, ...reconnect, messageId: crypto.randomUUID() };
  const answer = await withAgent(
    context,
    async (agent) => {
      const taskId = named === undefined ? named : await resolveTaskId(agent, named, io.signal);
      const all = { ...sending, taskId, contextId: context.text("context") };
      try {
        return await agent.send(input, { ...all, signal: io.signal });
      } catch (error) {
        if (io.signal.aborted) await reportLeftTask(agent, all, context);
        throw error;
      }
    },
    options,
  );
  if (context.flag("json")) {
    io.stdout(`${printableJson(answer)}\n`);
    return answer.task === undefined ? EXIT.done.code : exitCodeFor(answer.task.status.state);
  }
  return show(answer, context);
}

/** How long a person who pressed Ctrl+C waits for the id of the task. */
const LOOKUP_MS = 2000;

/**
 * The user stopped waiting, but the task continues: prints its id and what can be done with it. The
 * response that would have named the task never came, so it is found by the message.
 */
async function reportLeftTask(
  agent: RemoteAgent,
  { taskId, contextId, messageId }: Pick<SendOptions, "taskId" | "contextId" | "messageId">,
  context: CommandContext,
): Promise<void> {
  const id = taskId ?? (await findTask());
  if (id === undefined) return;
  const watch = commandLine(context, "tasks", [id, "--watch"]);
  const cancel = commandLine(context, "cancel", [id]);
  const message = `Task ${id} continues. Follow it with: ${watch}\nCancel it with: ${cancel}`;
  note(context, message, { kind: "unfinished", taskId: id });

  async function findTask(): Promise<string | undefined> {
    const signal = AbortSignal.timeout(LOOKUP_MS);
    const only = contextId === undefined ? {} : { contextId };
    // Agents of 0.3 cannot list tasks.
    const page = await agent.list({ ...only, signal }).catch(() => undefined);
    return page?.tasks.find(({ history = [] }) =>
      history.some((message) => message.messageId === messageId),
    )?.id;
  }
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
