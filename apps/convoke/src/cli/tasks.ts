import { type Task, type TaskState, isTerminal } from "@convoke/protocol";
import {
  AGENT_ENVIRONMENT,
  AGENT_OPTIONS,
  OWNER_OPTION,
  RECONNECT_OPTIONS,
  STATE_OPTION,
  readHistory,
  readOwner,
  readState,
  readUrl,
  rejectMoreArguments,
} from "../connect/agent-options.ts";
import { readReports } from "../connect/ask-server.ts";
import { objectField, textField } from "../terminal/json-fields.ts";
import { type Colours, coloursFor, formatAge, ownerText, table } from "../terminal/output.ts";
import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { commandLine } from "../terminal/command-line.ts";
import { withAgent } from "../connect/connect-options.ts";
import { oneLine, printableJson } from "@convoke/protocol/internal";
import { tasksDeleteCommand } from "./tasks-delete.ts";
import { tasksEndCommand } from "./tasks-end.ts";
import { tasksShowCommand } from "./tasks-show.ts";
import { watchTask } from "./tasks-watch.ts";
import { firstWords } from "../follow/outcome.ts";

export const tasksCommand: Command = {
  name: "tasks",
  summary: "List your tasks at an agent, newest first, or follow one until it ends",
  usage: "<url> [[task] --watch] [options]",
  examples: [
    "convoke tasks http://127.0.0.1:3000",
    "convoke tasks http://127.0.0.1:3000 --state input-required",
    "convoke tasks http://127.0.0.1:3000 --limit 100 --json | jq '.tasks[].id'",
    "convoke tasks http://127.0.0.1:3000 --owner '*' --state working",
    "convoke tasks http://127.0.0.1:3000 --watch",
    "convoke tasks http://127.0.0.1:3000 0198f3c2 --watch",
  ],
  options: {
    context: { type: "string", value: "<id>", help: "Only tasks of this conversation" },
    ...STATE_OPTION,
    limit: {
      type: "string",
      value: "<n>",
      help: "Maximum number of tasks, 1 to 100 (default: 20)",
    },
    history: {
      type: "string",
      value: "<n>",
      help: "Maximum number of messages of each task (see --json)",
    },
    watch: {
      type: "boolean",
      help: "Follow a task until it ends, by default the newest unfinished one",
    },
    reconnect: RECONNECT_OPTIONS.reconnect,
    "no-reconnect": RECONNECT_OPTIONS["no-reconnect"],
    ...OWNER_OPTION,
    ...AGENT_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  subcommands: [tasksShowCommand, tasksEndCommand, tasksDeleteCommand],
  run: tasks,
};

async function tasks(context: CommandContext): Promise<number> {
  if (context.flag("watch")) return watchTask(context);
  const { io } = context;
  readUrl(context);
  rejectMoreArguments(context);
  const contextId = context.text("context");
  const state = readState(context);
  const pageSize = readLimit(context.text("limit"));
  const historyLength = readHistory(context.text("history"));
  if (readOwner(context)["owner"] !== undefined) {
    return tasksOfAll(context, { contextId, state, limit: pageSize });
  }
  const request = {
    pageSize,
    ...(historyLength !== undefined && { historyLength }),
    ...(contextId !== undefined && { contextId }),
    ...(state !== undefined && { state }),
    signal: io.signal,
  };
  const page = await withAgent(context, (agent) => agent.list(request));
  if (context.flag("json")) {
    io.stdout(`${printableJson(page)}\n`);
    return EXIT.done.code;
  }
  const { dim } = coloursFor(io, "stderr");
  if (page.tasks.length > 0) {
    io.stdout(taskTable(page.tasks, Date.now(), coloursFor(io, "stdout")));
  }
  if (page.tasks.length === 0) io.stderr(`${dim("No tasks.")}\n`);
  if (page.nextPageToken !== "") {
    io.stderr(
      `${dim(`The newest ${page.tasks.length} of ${page.totalSize}. Use --limit for more.`)}\n`,
    );
  }
  const task = page.tasks.find(({ status }) => !isTerminal(status.state)) ?? page.tasks[0];
  if (task !== undefined) {
    io.stderr(
      `${dim(`Follow one with: ${commandLine(context, "tasks", [task.id, "--watch"])}`)}\n`,
    );
  }
  return EXIT.done.code;
}

interface AllTasksRequest {
  readonly contextId: string | undefined;
  readonly state: TaskState | undefined;
  readonly limit: number;
}

/** Tasks of all owners, from the admin API of Convoke servers. */
async function tasksOfAll(context: CommandContext, request: AllTasksRequest): Promise<number> {
  const { io } = context;
  const found = await readTasksOfAll(context, request);
  if (context.flag("json")) {
    io.stdout(`${printableJson({ tasks: found })}\n`);
    return EXIT.done.code;
  }
  const { dim } = coloursFor(io, "stderr");
  const [first] = found;
  if (first === undefined) {
    io.stderr(`${dim("No tasks.")}\n`);
    return EXIT.done.code;
  }
  const rows = found.map((task) => {
    const status = objectField(task, "status");
    return [
      oneLine(textField(task, "id")),
      oneLine(textField(status, "state")),
      formatAge(textField(status, "timestamp"), Date.now()),
      oneLine(ownerText(task)),
      oneLine(textField(task, "agent")),
    ];
  });
  io.stdout(table(["TASK", "STATE", "AGE", "OWNER", "AGENT"], rows, coloursFor(io, "stdout")));
  const show = commandLine(context, "tasks show", [textField(first, "id"), "--owner", "*"]);
  io.stderr(`${dim(`Show one with: ${show}`)}\n`);
  return EXIT.done.code;
}

type TaskReport = Readonly<Record<string, unknown>>;

function readTasksOfAll(
  context: CommandContext,
  { contextId, state, limit }: AllTasksRequest,
): Promise<readonly TaskReport[]> {
  const query = {
    ...readOwner(context),
    pageSize: String(limit),
    ...(contextId !== undefined && { contextId }),
    ...(state !== undefined && { status: state }),
  };
  return readReports(context, {
    path: "/convoke/tasks",
    query,
    about: "tasks",
    name: "tasks",
    limit,
  });
}

function readLimit(value: string | undefined): number {
  const limit = Number(value ?? "20");
  if (Number.isInteger(limit) && limit >= 1 && limit <= 100) return limit;
  throw new UsageError(`--limit must be a number from 1 to 100, not "${value}".`);
}

const HEADS = ["TASK", "STATE", "AGE", "FIRST WORDS"] as const;

const LONGEST_WORDS = 50;

/** Tasks as a table. Ids are not shortened, so that they can be copied. */
function taskTable(tasks: readonly Task[], now: number, colours: Colours): string {
  const rows = tasks.map((task) => [
    oneLine(task.id),
    task.status.state,
    formatAge(task.status.timestamp, now),
    oneLine(firstWords(task), LONGEST_WORDS),
  ]);
  return table(HEADS, rows, colours);
}
