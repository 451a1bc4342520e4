import { ClientError, RemoteError, TASK_STATES } from "@convoke/protocol";
import {
  type JsonObject,
  backoffMs,
  isObject,
  oneLine,
  printableJson,
  sleep,
} from "@convoke/protocol/internal";
import {
  AGENT_ENVIRONMENT,
  OWNER_OPTION,
  SERVER_OPTIONS,
  readTaskId,
  readUrl,
} from "../connect/agent-options.ts";
import { ServerTasks } from "../logs/server-tasks.ts";
import { type LogItem, type LogRequest, NOTES_OPTIONS, readNotes } from "../logs/task-source.ts";
import {
  type Command,
  type CommandContext,
  EXIT,
  UsageError,
  exitCodeFor,
} from "../terminal/command.ts";
import { listField, objectField, textField } from "../terminal/json-fields.ts";
import { type Colours, coloursFor, note } from "../terminal/output.ts";

export const logCommand: Command = {
  name: "log",
  summary: "Show what a task did, event by event, with the notes of its agent",
  usage: "<url> <task> [options]",
  examples: [
    "convoke log http://127.0.0.1:3000 0198f3c2",
    "convoke log http://127.0.0.1:3000 0198f3c2 --follow",
    "convoke log http://127.0.0.1:3000 0198f3c2 --no-notes --after 12",
    "convoke log http://127.0.0.1:3000 0198f3c2 --json | jq 'select(.event.kind == \"internal:llm-call\")'",
  ],
  options: {
    follow: { type: "boolean", short: "f", help: "Continue until the task ends" },
    after: { type: "string", value: "<n>", help: "Only events after this position" },
    ...NOTES_OPTIONS,
    ...OWNER_OPTION,
    ...SERVER_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: log,
};

async function log(context: CommandContext): Promise<number> {
  readUrl(context);
  const given = readTaskId(context);
  if (given === undefined) throw new UsageError("The task id is missing.");
  const isJson = context.flag("json");
  const request: LogRequest = {
    after: readAfter(context.text("after")),
    notes: readNotes(context),
    // A program gets every chunk; a reader gets sentences.
    joinsChunks: !isJson,
  };
  const tasks = await ServerTasks.open(context);
  try {
    const taskId = await tasks.find(given);
    const print = itemPrinter(context);
    if (context.flag("follow")) return await follow(context, { tasks, taskId, request, print });
    const { events } = await tasks.open(taskId, request);
    for await (const item of events) print(item);
    return EXIT.done.code;
  } finally {
    await tasks.close();
  }
}

function readAfter(value: string | undefined): number {
  if (value === undefined) return 0;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  throw new UsageError(`--after must be the position of an event, not "${value}".`);
}

interface Following {
  readonly tasks: ServerTasks;
  readonly taskId: string;
  readonly request: LogRequest;
  readonly print: (item: LogItem) => void;
}

/** How often a lost connection is opened again without an event in between: for about five minutes. */
const MAX_FAILURES = 40;

const RECONNECT = { firstMs: 250, longestMs: 10_000 };

/** Prints events until the task has ended. Returns the exit code of its state. */
async function follow(context: CommandContext, following: Following): Promise<number> {
  const { tasks, taskId, request, print } = following;
  let after = request.after ?? 0;
  for (let failures = 0; ;) {
    const start = after;
    const seen = (item: LogItem): void => {
      print(item);
      after = Number(item["seq"]);
    };
    const end = await followOnce(tasks.follow(taskId, { ...request, after }), seen);
    if (end === "over") return stateCode(tasks, taskId, { ...request, after });
    failures = after > start ? 0 : failures + 1;
    // The stream of a task that has ended is closed; the next request says that nothing follows.
    if (failures === 0) continue;
    if (failures > MAX_FAILURES) throw end.problem;
    note(context, "The connection was lost; trying again.", { kind: "reconnecting" });
    await sleep(backoffMs(failures, RECONNECT), context.io.signal);
  }
}

/** Prints the events of one connection. A problem that may pass is returned. */
async function followOnce(
  events: ReturnType<ServerTasks["follow"]>,
  seen: (item: LogItem) => void,
): Promise<"over" | { readonly problem: unknown }> {
  try {
    for (let next = await events.next(); ; next = await events.next()) {
      if (next.done === true) {
        const problem = new ClientError("unreachable", "the server closes the stream of this log");
        return next.value === "over" ? "over" : { problem };
      }
      seen(next.value);
    }
  } catch (problem) {
    const isLost = problem instanceof ClientError && problem.kind === "unreachable";
    const isStopping = problem instanceof RemoteError && problem.httpStatus === 503;
    if (isLost || isStopping) return { problem };
    throw problem;
  }
}

async function stateCode(tasks: ServerTasks, taskId: string, request: LogRequest): Promise<number> {
  const { about } = await tasks.open(taskId, request);
  const state = TASK_STATES.find((known) => known === textField(about, "state"));
  return exitCodeFor(state ?? "unknown");
}

function itemPrinter({ io, flag }: CommandContext): (item: LogItem) => void {
  if (flag("json")) return (item) => io.stdout(`${printableJson(item)}\n`);
  const colours = coloursFor(io, "stdout");
  return (item) => io.stdout(`${lineFor(item, colours)}\n`);
}

const LONGEST_TEXT = 100;

/** Time, position, kind and a few words. */
function lineFor(item: LogItem, { dim, bold, red }: Colours): string {
  const { kind, text, isNote } = describeItem(item);
  const time = textField(item, "at").slice("2026-11-16T".length, -1).padEnd("07:24:31.105".length);
  const place = String(item["seq"]).padStart(5);
  const words = oneLine(text, LONGEST_TEXT);
  const name = oneLine(kind).padEnd("approval-requested".length);
  const isBad = kind === "status" && /^(?:failed|rejected|canceled)\b/.test(text);
  const paint = isBad ? red : (shown: string) => shown;
  return `${dim(`${time} ${place}`)}  ${isNote ? dim(name) : bold(name)}  ${paint(words)}`.trimEnd();
}

/** An event of a log in a few words. */
interface ItemWords {
  /** The kind of the event: `status`, `artifact`, or that of a note, such as `tool-start`. */
  readonly kind: string;
  readonly text: string;
  /** Whether it is a note of the agent or of the engine, which A2A does not show. */
  readonly isNote: boolean;
}

function describeItem(item: LogItem): ItemWords {
  const event = objectField(item, "event");
  const kind = textField(event, "kind");
  if (kind.startsWith("internal:")) {
    return { kind: kind.slice("internal:".length), text: noteText(event), isNote: true };
  }
  switch (kind) {
    case "task":
      return { kind, text: messageText(listField(event, "history")[0]), isNote: false };
    case "status-update": {
      const status = objectField(event, "status");
      const said = messageText(status["message"]);
      const state = textField(status, "state");
      return { kind: "status", text: said === "" ? state : `${state}: ${said}`, isNote: false };
    }
    case "artifact-update": {
      const artifact = objectField(event, "artifact");
      const name = textField(artifact, "name") || textField(artifact, "artifactId");
      return { kind: "artifact", text: `${name}: ${messageText(artifact)}`, isNote: false };
    }
    default:
      return { kind, text: messageText(event), isNote: false };
  }
}

/** The text of a message or an artifact; other parts are named by their kind. */
function messageText(message: unknown): string {
  return listField(message, "parts")
    .map((part) => textField(part, "text") || `[${textField(part, "kind")}]`)
    .join("");
}

/** What most notes have in common comes first, then the other fields as they are. */
function noteText(event: JsonObject): string {
  const { kind: _, taskId: _task, timestamp: _time, toolCallId: _call, ...fields } = event;
  if (isObject(fields["message"])) return messageText(fields["message"]);
  const { toolName, text, ...rest } = fields;
  const words = [toolName, text].filter((one) => typeof one === "string");
  const more = Object.keys(rest).length === 0 ? [] : [printableJson(rest)];
  return [...words, ...more].join(" ");
}
